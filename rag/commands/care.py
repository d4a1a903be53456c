"""Commands that look after the program: doctor and settings."""

import sys
from typing import Any

import click

from .options import embedder_option, json_option, library_option, llm_options, print_json


@click.command(short_help="Check that everything is in place to ask.")
@json_option
@llm_options
@embedder_option
@library_option
def doctor(as_json: bool, **flags: Any) -> None:
    """Check Python, packages, weights, the library, the model, disk and access.

    Says what to do about each failure; any failure gives exit code 1.
    """
    from .. import doctor as checks

    findings = checks.diagnose(**flags)
    for finding in findings:
        if as_json:
            print_json(checks.finding_json(finding))
        else:
            click.echo(checks.finding_text(finding))
    if any(finding.ok is False for finding in findings):
        sys.exit(1)


@click.command("settings", short_help="Show every setting and its value.")
@json_option
def show_settings(as_json: bool) -> None:
    """Show every setting, its value and what it does; secrets are masked."""
    from ..settings import load_settings, rows

    for name, value, description in rows(load_settings()):
        if as_json:
            print_json({"name": name, "value": value, "description": description})
        else:
            click.echo(f"{name} = {value}\n    {description}")


COMMANDS = (doctor, show_settings)
