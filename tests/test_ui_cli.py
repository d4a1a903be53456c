import socket
import subprocess
import sys

import pytest
from click.testing import CliRunner

from rag.errors import SettingsError
from ui.cli import chat, read_auth
from ui.server import Address, bind, check_address


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "::", "my-machine"])
def test_a_page_that_others_can_reach_needs_a_password(host):
    with pytest.raises(SettingsError, match="needs a password"):
        check_address(Address(host))
    check_address(Address(host, auth=("u", "p")))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_this_machine_needs_none(host):
    check_address(Address(host))


def test_the_command_refuses_before_it_loads_anything():
    result = CliRunner().invoke(chat, ["--host", "0.0.0.0", "--no-browser"])
    assert isinstance(result.exception, SettingsError)


def test_sample_and_library_together_are_wrong_usage():
    result = CliRunner().invoke(chat, ["--sample", "--library", "x"])
    assert result.exit_code == 2


def test_a_taken_port_is_said_with_the_next_step():
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(SettingsError, match=r"choose another with --port"),
    ):
        bind(Address(port=taken.getsockname()[1]))


def test_auth_is_read_from_words_or_a_file(tmp_path):
    file = tmp_path / "auth.txt"
    file.write_text("user:pass:word\n")
    assert read_auth("user:secret") == ("user", "secret")
    assert read_auth(str(file)) == ("user", "pass:word")
    assert read_auth(None) is None


@pytest.mark.parametrize("value", ["no-such-file", ":secret-1", "secret-1:", "secret-1"])
def test_a_bad_password_is_refused_and_not_repeated(value):
    with pytest.raises(SettingsError, match="--auth") as refused:
        read_auth(value)
    assert "secret-1" not in str(refused.value)


@pytest.mark.parametrize(
    ("address", "url"),
    [
        (Address(), "http://127.0.0.1:7860"),
        (Address("0.0.0.0", 80), "http://127.0.0.1:80"),
        (Address("::1", 80), "http://[::1]:80"),
    ],
)
def test_the_address_can_be_typed_into_a_browser(address, url):
    assert address.url == url


def test_help_loads_neither_gradio_nor_torch():
    code = (
        "import sys; from click.testing import CliRunner; from ui.cli import chat; "
        "r = CliRunner().invoke(chat, ['--help']); assert '--port' in r.output, r.output; "
        "sys.exit(bool({'gradio', 'torch', 'fastapi'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
