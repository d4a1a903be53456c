"""The page's libraries as the service for the command line uses them: opened once for both."""

from dataclasses import replace

from rag.library import Library
from rag.serving_shelf import Opened, Opening

from .shelf import SAMPLE, Shelf


class PageLibraries(Opened):
    """Lends the libraries that the page has open; others are opened beside them.

    Args:
        shelf: The libraries of the page, which closes them itself.
    """

    def __init__(self, shelf: Shelf) -> None:
        super().__init__(shelf.settings.home)
        self._shelf = shelf
        self._shared: list[Library] = []

    def opened(self, opening: Opening) -> Library:
        """Return the page's own library, unless it is deleted or to be opened in another way."""
        if opening.key != replace(opening, settings=self._shelf.settings).key:
            return self._beside(opening)
        library = self._shelf.library(SAMPLE if opening.sample else opening.name)
        if not library.is_there:
            return super().opened(opening)
        self._shared.append(library)
        return library

    def _beside(self, opening: Opening) -> Library:
        """Open a library for ourselves; where the page has it too, one indexer is enough."""
        library = super().opened(opening)
        if self._shelf.holds(SAMPLE if opening.sample else opening.name):
            library.stop_indexer()
        return library

    def release(self, library: Library) -> None:
        """Close a library unless the page uses it."""
        if library in self._shared:
            self._shared.remove(library)
        else:
            super().release(library)

    def stop_models(self) -> None:
        """Leave the models alone: the page uses them too."""
