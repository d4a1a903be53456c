"""What a caller of the server wants: checked JSON → plain values. Pure but for the settings."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from .schema import Filters
from .settings import Settings

FORMATS = ("bibtex", "ris")
NUMBERS = frozenset({"year_from", "year_to"})
SOURCES = ("files", "environment", "flags")  # weakest first


class CallersSettings(Settings):
    """The settings of a caller: nothing is read from the server's own surroundings."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take what is given and nothing else."""
        return (init_settings,)


@dataclass(frozen=True, slots=True)
class Wanted:
    """One request: which library, how, and what."""

    settings: Settings
    sample: bool = False
    question: str = ""
    filters: Filters | None = None
    show: bool = True
    formats: tuple[str, ...] = ()


def wanted(body: Mapping[str, Any], home: Path) -> Wanted:
    """Read a request.

    Args:
        body: The JSON object that came.
        home: The folder of the libraries that this server answers for.

    Raises:
        ValueError: Something is not as ``rag.remote`` sends it, or a setting cannot be used; the
            caller finds the words for the user.
    """
    known = {field.name for field in fields(Wanted)}
    if unknown := set(body) - known:
        raise ValueError(f"Nothing is known of {sorted(unknown)!r}.")
    formats = body.get("formats", [])
    if not isinstance(formats, list) or not set(map(str, formats)) <= set(FORMATS):
        raise ValueError("'formats' is a list of bibliography formats.")
    return Wanted(
        settings=_settings(body.get("settings"), home),
        sample=_of_type(body.get("sample", False), bool),
        question=_of_type(body.get("question", ""), str),
        filters=_filters(body.get("filters")),
        show=_of_type(body.get("show", True), bool),
        formats=tuple(formats),
    )


def _of_type(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise ValueError(f"{kind.__name__} is expected.")
    return value


def _filters(given: Any) -> Filters | None:
    if given is None:
        return None
    names = {field.name for field in fields(Filters)} - {"paper_ids"}
    if not isinstance(given, dict) or not set(given) <= names:
        raise ValueError("'filters' holds something unknown.")
    for name, value in given.items():
        if value is not None:
            _of_type(value, int if name in NUMBERS else str)
    return Filters(**given) or None


def _settings(given: Any, home: Path) -> Settings:
    """Resolve settings as ``load_settings`` does: options, environment, files, defaults."""
    if not isinstance(given, dict) or not all(isinstance(given.get(n), dict) for n in SOURCES):
        raise ValueError("'settings' holds what files, environment and options say.")
    environment = {
        name: value
        for name, value in given["environment"].items()
        if name in Settings.model_fields  # other variables are somebody else's
    }
    merged = {**given["files"], **environment, **given["flags"]}
    merged.setdefault("home", str(home))
    try:
        settings = CallersSettings(**merged)
    except (ValidationError, TypeError) as exc:
        raise ValueError("A setting cannot be used.") from exc
    if settings.home.resolve() != home.resolve():
        raise ValueError("This server answers for another folder.")
    return settings
