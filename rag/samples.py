"""The sample library: forty abstracts that ship with the package."""

from contextlib import suppress
from importlib import resources
from pathlib import Path

from .errors import LibraryBusyError
from .index import Progress, no_progress
from .library import Library, open_library
from .settings import Settings

NAME = "sample"


def sample_files() -> list[Path]:
    """Return the packaged files of the sample, in order."""
    folder = Path(str(resources.files(__package__).joinpath("sample")))
    return sorted(folder.glob("*.txt"))


def open_sample(settings: Settings, *, progress: Progress = no_progress) -> Library:
    """Open the sample library, building it the first time.

    Args:
        settings: The settings in force; their library name is not used.
        progress: Told of every step of building.
    """
    library = open_library(NAME, settings=settings, create=True)
    try:
        if not library.papers(limit=1):
            library.add(sample_files(), wait=True, progress=progress)
        elif library.waiting:
            with suppress(LibraryBusyError):  # whoever is writing finishes it
                library.sync(progress)
    except BaseException:
        library.close()
        raise
    return library
