"""What keeps a library in order: export, vectors in the background, rebuilding, checks, backup."""

from collections.abc import Callable, Sequence
from pathlib import Path

from . import folders
from .backup import save
from .conversations import Conversations
from .index import Index, Progress, Work, no_progress
from .indexer import Indexer, Indexing
from .schema import Paper, Status
from .settings import Settings
from .status import status_of


class Upkeep:
    """The part of a library that keeps it.

    Args:
        folder: The library's folder.
        settings: The settings in force.
        index: Its index.
    """

    def __init__(self, folder: Path, settings: Settings, index: Index) -> None:
        self.folder = folder
        self.settings = settings
        self._index = index
        self._indexer = Indexer(index)

    def close(self) -> None:
        """Close every file and give the locks back."""
        self._indexer.stop()
        self._index.close()

    @property
    def name(self) -> str:
        """Return the library's display name."""
        return self._index.manifest.name

    @property
    def is_there(self) -> bool:
        """Say whether its folder still holds it: others may delete it while it is open."""
        return self._index.is_there

    @property
    def conversations(self) -> Conversations:
        """Return the conversations kept in this library; they need no lock and no open index."""
        return Conversations(self.folder)

    def export(self, papers: Sequence[Paper], format: str) -> str:  # noqa: A002  # as users type it
        """Return papers as a bibliography.

        Args:
            papers: The papers, e.g. ``[c.paper for c in answer.citations]``; repeats are dropped.
            format: ``"bibtex"`` or ``"ris"``.

        Raises:
            SettingsError: The format is not known.
        """
        from .export import export

        return export(papers, format)

    def sync(self, progress: Progress = no_progress, *, embed: bool = True) -> Work:
        """Finish what an interrupted or failed import left: words, vectors, Chroma.

        Args:
            progress: Told of every step.
            embed: Also do what needs the embedder.

        Raises:
            LibraryBusyError: Somebody else is writing.
        """
        return self._index.sync(progress, embed=embed)

    def catch_up(self, progress: Progress = no_progress) -> Work:
        """Finish what an open does: words that wait, and Chroma where very much waits for it.

        Raises:
            LibraryBusyError: Somebody else is writing.
        """
        return self._index.catch_up(progress)

    @property
    def waiting(self) -> int:
        """Return how many papers still lack a vector or their newer version."""
        return self._index.catalogue.waiting()

    @property
    def has_work(self) -> bool:
        """Say whether something waits to be embedded or indexed."""
        return self._index.has_work()

    def embed(
        self,
        *,
        progress: Progress = no_progress,
        stop: Callable[[], bool] = lambda: False,
    ) -> Indexing:
        """Make every vector that waits, giving way to whoever asks or adds meanwhile.

        Args:
            progress: Told how many passages are embedded, and of how many.
            stop: Asked again and again whether to stop; what is made stays.

        Returns:
            How far it came; ``error`` says why papers still wait.
        """
        return Indexer(self._index).run(progress, stop)

    def start_indexer(self) -> None:
        """Make the vectors that wait in the background, unless the profile is ``"fast"``."""
        if self.settings.profile != "fast":
            self._indexer.start()

    def stop_indexer(self) -> None:
        """End what ``start_indexer`` began; what is made stays."""
        self._indexer.stop()

    def indexing(self) -> Indexing:
        """Say how far the background is."""
        return self._indexer.progress()

    def rebuild(self, *, embed: bool = False, progress: Progress = no_progress) -> Work:
        """Make the lexical index and Chroma anew; vectors too when ``embed``.

        Raises:
            LibraryBusyError: Another process is writing to this library.
        """
        return self._index.rebuild(embed=embed, progress=progress)

    def status(self, *, check: bool = False) -> Status:
        """Return counts and problems.

        Args:
            check: Also compare catalogue, lexical index and Chroma, which reads all of them.
        """
        return status_of(self._index, check=check)

    def destroy(self) -> None:
        """Delete the whole library with its folder.

        Raises:
            LibraryBusyError: Another process is writing to it.
        """
        self.close()
        folders.destroy(self.folder, self.name)

    def backup(self, file: str | Path) -> Path:
        """Write the whole library to one file, also while it is in use; see ``restore``."""
        return save(self.folder, self._index.database, Path(file))
