"""Errors a user can act on. Anything else is a bug and keeps its traceback."""


class RagError(Exception):
    """Base of every error that the command line and the page show as one plain message."""


class SettingsError(RagError):
    """A flag, environment variable or settings file holds a value that cannot be used."""


class RecordError(RagError):
    """A file of papers cannot be read at all, or nothing in it could be stored."""


class QuestionError(RagError):
    """The question cannot be asked as it is: empty, too long, or not text."""


class IndexMissingError(RagError):
    """The named library, or a paper in it, does not exist."""


class IndexMismatchError(RagError):
    """The library was built with another embedder, chunking or program version."""


class LibraryBusyError(RagError):
    """Another process is writing to the library."""


class MissingExtraError(RagError, ImportError):
    """Something was asked for that needs a package which is not installed."""


class ProviderError(RagError):
    """A language model or its server failed.

    Args:
        message: One plain sentence or two, as shown to the user.
        retryable: Whether the same call may succeed later without a change by the user.
    """

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable
