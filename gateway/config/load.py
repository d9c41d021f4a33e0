"""Loading: file, environment, every check, one value. Says every problem at once."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from gateway.config.checks import clashes, secrets_in
from gateway.config.problems import sentences
from gateway.config.settings import Settings
from gateway.config.sources import EnvironmentSource, Overlay, choose_file, read_file
from gateway.errors import ConfigError


def load(path: Path | None, environ: Mapping[str, str]) -> Settings:
    """Load the configuration: `path`, else $GATEWAY_CONFIG, else channels.toml in the current folder.

    GATEWAY_... variables of `environ` win over the file. Relative paths are taken from the file's folder.
    Raises ConfigError with every problem.
    """
    file = choose_file(path, environ)
    # The folder as it was named: what a symbolic link points to is not where an administrator looks for `var`.
    folder = file.absolute().parent
    in_file = read_file(file)
    environment = EnvironmentSource(Settings, environ)
    overlay = Overlay(Settings, in_file, environment())
    problems = [*environment.problems, *overlay.problems, *secrets_in(in_file)]
    settings = None
    try:
        settings = Settings(**overlay.document)
    except ValidationError as error:
        problems += sentences(Settings, overlay, error)
    problems += clashes(overlay.document, folder)
    if settings is None or problems:
        raise ConfigError(tuple(problems))
    return settings.anchored(folder)
