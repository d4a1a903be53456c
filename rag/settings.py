"""Every setting in one model: flags, then CITEWELL_*, then citewell.toml, then defaults."""

import tomllib
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import urlsplit, urlunsplit

import platformdirs
from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from .errors import SettingsError

CONFIG_NAME = "citewell.toml"
NOT_FROM_A_FOLDER = frozenset({"llm", "llm_base_url", "llm_api_key"})


def config_files() -> list[Path]:
    """Return the settings files that are read, weakest first: the user's, then this folder's."""
    return [Path(platformdirs.user_config_dir("citewell")) / CONFIG_NAME, Path(CONFIG_NAME)]


class FolderSettings(TomlConfigSettingsSource):
    """The settings file of the current folder, which may come from somebody else.

    It may not say where questions, papers and keys are sent.
    """

    def __call__(self) -> dict[str, Any]:
        """Return what the file holds.

        Raises:
            SettingsError: It names a model or a server.
        """
        found = super().__call__()
        if named := sorted(set(found) & NOT_FROM_A_FOLDER):
            raise SettingsError(
                f"The file '{CONFIG_NAME}' in this folder sets {', '.join(map(repr, named))}. A "
                "folder from somebody else could send your questions and your key elsewhere that "
                f"way. Set it with an option, in the environment, or in '{config_files()[0]}'."
            )
        return found


class Settings(BaseSettings):
    """How Citewell finds, answers and stores. Times are in seconds."""

    model_config = SettingsConfigDict(env_prefix="CITEWELL_", extra="forbid", frozen=True)

    home: Path = Field(
        default_factory=lambda: Path(platformdirs.user_data_dir("citewell")),
        description="Folder that holds the libraries.",
    )
    library: str = Field("default", description="Library used when no --library is given.")
    embedder: str = Field(
        "minilm",
        description="'minilm' (packaged all-MiniLM-L6-v2), or 'st:FOLDER' for a local "
        "sentence-transformers model.",
    )
    profile: Literal["fast", "balanced", "best"] = Field(
        "balanced",
        description="When vectors are made: 'fast' only for questions, 'balanced' also in the "
        "background of the chat page, 'best' the same with a larger embedder that you name.",
    )
    embed_budget: float = Field(
        1.5,
        ge=0,
        description="Longest time, in seconds, in which a question makes vectors that are "
        "missing; 0 makes none, 'inf' all it wants.",
    )
    embed_batch: int = Field(
        32, ge=1, le=1024, description="Texts that an 'st:' model embeds in one batch."
    )
    llm: str = Field(
        "quote",
        description="'quote' (no language model), 'gguf:PATH', 'hf:REPO[/FILE]', 'ollama:MODEL' "
        "or 'openai:MODEL'.",
    )
    llm_base_url: str | None = Field(
        None, description="Address of the Ollama or OpenAI-compatible server."
    )
    llm_api_key: SecretStr | None = Field(
        None, description="Key for that server (falls back to OPENAI_API_KEY for 'openai:')."
    )
    llm_timeout_s: float = Field(120.0, gt=0, description="Longest silence of a model, in seconds.")
    llm_max_tokens: int = Field(300, ge=16, le=8192, description="Longest answer, in tokens.")
    llm_context: int = Field(4096, ge=512, description="Context window of a GGUF model, in tokens.")
    llm_threads: int | None = Field(
        None, ge=1, description="Threads of a GGUF model; unset means the number of cores less one."
    )
    llm_seed: int = Field(0, ge=0, description="Seed of a GGUF model's sampling.")
    top_k: int = Field(10, ge=1, le=1000, description="Papers in a ranked list.")
    candidates: int = Field(100, ge=10, le=10_000, description="Papers taken from each engine.")
    retrieval: Literal["hybrid", "lexical", "dense"] = Field(
        "hybrid", description="'hybrid', 'lexical' or 'dense'."
    )
    evidence_model: Literal["packaged", "none"] = Field(
        "packaged",
        description="'packaged' reads question and abstract together with the model that ships; "
        "'none' compares vectors and words only, which is faster and weaker.",
    )
    max_statements: int = Field(3, ge=1, le=20, description="Statements in a quoted answer.")
    abstain_below: float | None = Field(
        None,
        ge=0,
        le=1,
        description="Abstain when the estimated probability of an answer is lower; unset means the "
        "value measured for the packaged models.",
    )
    strict: bool = Field(
        False, description="Leave out what a language model says and no given sentence supports."
    )
    complete: bool = Field(
        True,
        description="Quote, after a language model's words, the best sentences they leave out.",
    )
    verifier: str | None = Field(
        None,
        description="Folder of a cross-encoder of your own that judges whether a model's "
        "statements follow from their sources; unset uses the built-in comparison alone.",
    )
    max_question_chars: int = Field(4000, ge=100, description="Longest question, in characters.")

    @field_validator("llm", "embedder", "library")
    @classmethod
    def _not_empty(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("must not be empty")
        return value.strip()

    @field_validator("embed_budget")
    @classmethod
    def _a_number(cls, value: float) -> float:
        if value != value:
            raise ValueError("must be a number of seconds, 0 or more")
        return value

    @model_validator(mode="after")
    def _best_names_its_embedder(self) -> Self:
        if self.profile == "best" and self.embedder == "minilm":
            raise ValueError(
                "The profile 'best' cannot be used: it takes a larger embedder that you name, and "
                "the embedder is still 'minilm'. Name one with --embedder st:FOLDER, or use "
                "'balanced'."
            )
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Put flags before the environment and the environment before citewell.toml."""
        users, folders = config_files()
        return (
            init_settings,
            env_settings,
            FolderSettings(settings_cls, folders),
            TomlConfigSettingsSource(settings_cls, users),
        )


def load_settings(**flags: Any) -> Settings:
    """Return the settings in force.

    Args:
        **flags: Values given on the command line; None means "not given".

    Raises:
        SettingsError: A value is unknown, out of range, or a settings file is not TOML.
    """
    try:
        return Settings(**{name: value for name, value in flags.items() if value is not None})
    except tomllib.TOMLDecodeError as exc:
        raise SettingsError(
            f"A settings file ({', '.join(str(f) for f in config_files() if f.exists())}) is not "
            f"valid TOML: {exc}. Correct the line or remove the file."
        ) from exc
    except (OSError, UnicodeDecodeError) as exc:
        raise SettingsError(
            f"A settings file ({', '.join(str(f) for f in config_files() if f.exists())}) cannot "
            f"be read: {getattr(exc, 'strerror', None) or exc}. Make it a readable UTF-8 file, or "
            "remove it."
        ) from exc
    except ValidationError as exc:
        raise SettingsError(_explain(exc)) from exc


def rows(settings: Settings) -> list[tuple[str, str, str]]:
    """Return (name, value, description) of every setting; secrets are masked."""
    return [
        (name, _shown(getattr(settings, name)), field.description or "")
        for name, field in Settings.model_fields.items()
    ]


def _shown(value: object) -> str:
    """Return a value as text; user name, password and query of an address are left out."""
    text = str(value)
    if "://" not in text:
        return text
    parts = urlsplit(text)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def _explain(exc: ValidationError) -> str:
    """Say what is wrong with the first bad setting, without repeating its value if it is secret."""
    first = exc.errors(include_url=False)[0]
    name = ".".join(str(part) for part in first["loc"])
    if not first["loc"]:  # two settings that do not go together
        return first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        return (
            f"There is no setting {name!r}. The settings are listed by: citewell settings. "
            f"Correct its name in {CONFIG_NAME}."
        )
    shown = "" if "key" in name else f" has the value {str(first['input'])[:80]!r}, which"
    return (
        f"The setting {name!r}{shown} cannot be used: {first['msg']}. Change it where "
        f"it was set: CITEWELL_{name.upper()}, {CONFIG_NAME} or the command's own option."
    )
