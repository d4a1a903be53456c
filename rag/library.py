"""The one door to everything: open a library, add, search, ask, stream, export, check."""

import logging
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from . import __version__, folders
from . import manifest as manifests
from .backup import load
from .errors import IndexMissingError, LibraryBusyError, RagError
from .importing import Watch, add_files, watched_by_nobody
from .index import Index, Progress, no_progress
from .schema import (
    Answer,
    Filters,
    ImportReport,
    Paper,
    RankedPaper,
    Turn,
)
from .settings import Settings, load_settings
from .upkeep import Upkeep

if TYPE_CHECKING:
    from .embedders import Embedder
    from .engine import AnswerEngine

log = logging.getLogger(__name__)


class Library(Upkeep):
    """A pile of papers that can be asked. Make one with ``open_library``.

    Threads may ask at the same time. Close it, or use it in a ``with`` block, to give its files
    back to other processes.

    Args:
        folder: The library's folder, with a manifest in it.
        settings: The settings in force.
    """

    def __init__(self, folder: Path, settings: Settings) -> None:
        index = Index(folder, self._load_embedder, embed_budget_s=settings.embed_budget)
        super().__init__(folder, settings, index)
        self._engines: dict[str, AnswerEngine] = {}
        self._guard = threading.Lock()

    def _load_embedder(self) -> "Embedder":
        from .embedders import build

        return build(self.settings)

    def check_embedder(self) -> None:
        """Compare the embedder of the settings with the library's by name, without loading it.

        Raises:
            IndexMismatchError: They differ.
        """
        manifests.check_name(self._index.manifest, self.settings.embedder)

    def __enter__(self) -> "Library":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    # ---- papers --------------------------------------------------------------------------------

    def add(
        self,
        files: str | Path | Sequence[str | Path],
        *,
        format: str | None = None,  # noqa: A002  # the word users type: --format
        encoding: str | None = None,
        wait: bool = False,
        progress: Progress = no_progress,
        watch: Watch = watched_by_nobody,
    ) -> ImportReport:
        """Add files of papers: they can be asked at once; vectors are made when wanted.

        Args:
            files: One path or several; read in order.
            format: ``"listing"``, ``"bibtex"``, ``"ris"``, ``"jsonl"``; None finds it out.
            encoding: A Python codec name; None finds it out.
            wait: Also make every vector before returning.
            progress: Called with stage, done, and total (0: not known). It may raise to cancel:
                what is stored stays.
            watch: Called with the report so far, before vectors are made.

        Returns:
            A report whose counts add up; ``pending`` papers have no vector yet, which is no
            failure. A file that cannot be read is one failed record.

        Raises:
            LibraryBusyError: Another process is writing to this library.
        """
        paths = [Path(files)] if isinstance(files, str | Path) else [Path(f) for f in files]
        return add_files(
            self._index,
            paths,
            format=format,
            encoding=encoding,
            wait=wait,
            progress=progress,
            watch=watch,
        )

    def papers(
        self, filters: Filters | None = None, *, limit: int = -1, offset: int = 0
    ) -> list[Paper]:
        """Return papers in the order they were added.

        Args:
            filters: Only papers that match; None means all.
            limit: At most so many; negative means no limit.
            offset: Skip so many first.
        """
        return self._index.catalogue.browse(filters, limit=limit, offset=offset)

    def paper(self, paper_id: str) -> Paper:
        """Return one paper by its id.

        Raises:
            IndexMissingError: The library has no such paper.
        """
        wanted = paper_id.encode("utf-8", "replace").decode()  # half a character names no paper
        found = self._index.catalogue.get(wanted)
        if found is None:
            raise IndexMissingError(
                f"The library '{self.name}' has no paper '{wanted}'. "
                f"Its papers are listed by: citewell list --library '{self.name}'"
            )
        return found

    def remove(self, paper_ids: Sequence[str]) -> int:
        """Delete papers from the library and return how many there were.

        Raises:
            LibraryBusyError: Another process is writing to this library.
        """
        return self._index.remove(paper_ids)

    def undo_import(self, import_id: int) -> int:
        """Delete the papers that one import added and return how many there were."""
        return self._index.remove(self._index.catalogue.of_import(import_id))

    # ---- asking --------------------------------------------------------------------------------

    def search(
        self,
        query: str,
        *,
        top_k: int | None = None,
        filters: Filters | None = None,
        sentences: bool = False,
    ) -> tuple[RankedPaper, ...]:
        """Rank papers for a query.

        Args:
            query: Plain text.
            top_k: At most so many; None takes it from the settings.
            filters: Only papers that match; None means all.
            sentences: Also find the sentence of each paper that is nearest to the query.

        Returns:
            Papers by falling score; empty when nothing matches.

        Raises:
            QuestionError: The query is empty, too long or not text.
        """
        from . import question
        from .retrieval import Searcher
        from .snippets import best_sentences

        asked = question.check(query, max_chars=self.settings.max_question_chars)
        searcher = Searcher(
            self._index, candidates=self.settings.candidates, mode=self.settings.retrieval
        )
        found = searcher.search(asked, top_k=top_k or self.settings.top_k, filters=filters).papers
        if not sentences:
            return found
        best = best_sentences(self._index, asked, found)
        return tuple(replace(one, sentence=best.get(one.paper.id)) for one in found)

    def ask(
        self,
        question: str,
        *,
        history: Sequence[Turn] = (),
        filters: Filters | None = None,
        llm: str | None = None,
    ) -> Answer:
        """Answer a question from the papers.

        Args:
            question: The question as typed.
            history: Earlier turns, oldest first.
            filters: Only papers that match may be used.
            llm: Another model than the settings', in the same spelling; ``"quote"`` for none.

        Returns:
            The answer. It abstains, cites nothing and offers the nearest papers where the library
            holds no answer.

        Raises:
            QuestionError: The question is empty, too long or not text.
            ProviderError: The language model failed before it said anything.
        """
        return self.engine(llm).answer(question, history=history, filters=filters)

    def stream(
        self,
        question: str,
        *,
        history: Sequence[Turn] = (),
        filters: Filters | None = None,
        llm: str | None = None,
    ) -> Iterator[str | Answer]:
        """Answer piece by piece: strings as they come, then, last, the whole ``Answer``.

        Arguments and errors are those of ``ask``. Closing the iterator early stops the model.
        """
        return self.engine(llm).stream(question, history=history, filters=filters)

    def engine(self, llm: str | None = None) -> "AnswerEngine":
        """Return the LlamaIndex query engine of this library, one for each model, kept.

        Raises:
            SettingsError: The model's name is not understood.
            ProviderError: The model cannot be had.
        """
        from .engine import build_engine

        name = llm or self.settings.llm
        with self._guard:
            if name not in self._engines:
                settings = self.settings.model_copy(update={"llm": name})
                self._engines[name] = build_engine(self._index, settings)
            return self._engines[name]


def open_library(
    name: str | None = None,
    *,
    settings: Settings | None = None,
    create: bool = False,
    finish: bool = True,
    any_embedder: bool = False,
    progress: Progress = no_progress,
) -> Library:
    """Open a library by name.

    Args:
        name: Its display name; None takes it from the settings.
        settings: The settings in force; None loads them.
        create: Make it when there is none.
        finish: Make searchable what a crash left, unless another process is writing.
        any_embedder: Open it also with another embedder than it was built with: to list, remove or
            back up its papers, or to embed them anew.
        progress: Told what is being finished.

    Returns:
        The library; close it when done.

    Raises:
        IndexMissingError: There is none of that name and ``create`` is False.
        IndexMismatchError: It is damaged, or was built with another embedder or by a newer version.
        SettingsError: The name cannot be used.
    """
    settings = settings or load_settings()
    wanted = folders.display_name(settings.library if name is None else name)
    folder = folders.folder_for(settings.home, wanted)
    if not (folder / manifests.NAME).exists():
        if not create:
            raise _missing(settings, wanted)
        embedder = {"name": settings.embedder}
        folders.create(folder, manifests.Manifest(wanted, dict(embedder), citewell=__version__))
    library = Library(folder, settings)
    try:
        if not any_embedder:
            library.check_embedder()
        if finish:
            _finish(library, progress)
    except BaseException:
        library.close()
        raise
    return library


def _missing(settings: Settings, name: str) -> IndexMissingError:
    known = [other for other, _ in libraries(settings)]
    hint = f" Libraries here: {', '.join(known[:10])}." if known else ""
    return IndexMissingError(
        f"No library '{name}' in '{settings.home}'.{hint} "
        f"Build it first: citewell add FILE --library '{name}'"
    )


def _finish(library: Library, progress: Progress) -> None:
    """Finish what makes papers searchable after a crash; vectors are made when they are wanted.

    Nothing that goes wrong here keeps the library from being opened:
    ``status`` tells what still waits.
    """
    try:
        work = library.catch_up(progress)
    except LibraryBusyError as exc:  # whoever is writing will finish it
        log.info("The library '%s' has unfinished work: %s", library.name, exc)
    except RagError as exc:
        log.warning("The library '%s' has unfinished work: %s", library.name, exc)
    else:
        if work.error:
            log.warning("The library '%s' has unfinished work: %s", library.name, work.error)


def libraries(settings: Settings | None = None) -> list[tuple[str, Path]]:
    """Return (display name, folder) of every library, by name.

    Raises:
        SettingsError: The folder of the libraries cannot be read.
    """
    settings = settings or load_settings()
    return folders.libraries(settings.home)


def delete_library(name: str, *, settings: Settings | None = None) -> None:
    """Delete a whole library, also a damaged one.

    Raises:
        IndexMissingError: There is none of that name.
        LibraryBusyError: A process is writing to it, or has it open.
    """
    settings = settings or load_settings()
    wanted = folders.display_name(name)
    folder = folders.folder_for(settings.home, wanted)
    if not (folder / manifests.NAME).exists():
        raise _missing(settings, wanted)
    folders.destroy(folder, wanted)


def restore(file: str | Path, name: str, *, settings: Settings | None = None) -> Library:
    """Make a library from a backup file and open it; nothing is embedded.

    Raises:
        SettingsError: The file is not a backup, or a library of that name exists.
    """
    settings = settings or load_settings()
    shown = folders.display_name(name)
    load(Path(file), folders.folder_for(settings.home, shown), shown)
    return open_library(shown, settings=settings)
