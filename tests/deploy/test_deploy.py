"""The files in deploy/ agree with the command line, the settings and the paths of the service."""

import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from starlette.testclient import TestClient

from tests.serve.conftest import Running, running
from tests.translators import save, untrained
from yakusu.cli.verbs import app
from yakusu.serve.config import ServeConfig, load_config

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
DEFAULTS = ServeConfig()
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


# ---- what the files contain ----------------------------------------------------------------------


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Containerfile, with their arguments."""
    text = (DEPLOY / "Containerfile").read_text()
    text = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", "")
    return [(line.split()[0], line.partition(" ")[2]) for line in text.splitlines() if line.strip()]


def last(name: str) -> str:
    """The arguments of the last instruction with a name."""
    return [value for each, value in instructions() if each == name][-1]


def compose() -> dict[str, Any]:
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["yakusu"]


def cluster() -> dict[str, Any]:
    """The resources for Kubernetes by kind; the last claim is that of the memory."""
    resources = yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text())
    return {each["kind"]: each for each in resources}


def pod() -> dict[str, Any]:
    return cluster()["Deployment"]["spec"]["template"]["spec"]


def unit() -> ConfigParser:
    found = ConfigParser(interpolation=None)
    found.optionxform = str  # type: ignore[assignment,method-assign]
    found.read(DEPLOY / "yakusu.service")
    return found


def commands() -> Iterator[tuple[str, list[str]]]:
    """The arguments of every `yakusu` in deploy/, with the file."""
    yield "Containerfile", json.loads(last("CMD"))
    yield "compose.yaml", compose()["command"]
    yield "kubernetes.yaml", pod()["containers"][0]["args"]
    for path in sorted(DEPLOY.iterdir()):
        text = re.sub(r"^# ?", "", path.read_text(), flags=re.MULTILINE)
        for found in re.finditer(r"\byakusu ((?:serve|memory)\b[^'#\n]*)", text):
            yield path.name, shlex.split(found[1])


COMMANDS = list(commands())


def parsed(arguments: list[str]) -> typer.Context:
    """The context in which Click runs the verb; its parameters have been checked."""
    command: Any = typer.main.get_command(app)
    context = None
    while hasattr(command, "commands"):
        command, arguments = command.commands[arguments[0]], arguments[1:]
    context = command.make_context("yakusu", [*arguments])
    return context  # type: ignore[no-any-return]


# ---- the tests -----------------------------------------------------------------------------------


def test_each_file_has_its_commands() -> None:
    assert sorted({name for name, _ in COMMANDS}) == [
        *("Containerfile", "compose.yaml", "kubernetes.yaml", "yakusu.service")
    ]
    assert len([name for name, _ in COMMANDS if name == "yakusu.service"]) == 2


@pytest.mark.parametrize(("name", "arguments"), COMMANDS)
def test_the_command_line_accepts_a_command(name: str, arguments: list[str]) -> None:
    context = parsed(arguments)
    if arguments[0] == "serve":
        config = load_config(None, context.params["overrides"] or [])
        assert context.params["models"] and config.port == DEFAULTS.port
        assert context.params["port"] is None
        host = context.params["host"] or DEFAULTS.host
        assert host == ("127.0.0.1" if name == "yakusu.service" else "0.0.0.0")
    else:
        assert (context.params["source"], context.params["target"]) == ("en", "de")


def test_the_port_is_that_of_the_service() -> None:
    port = DEFAULTS.port
    assert last("EXPOSE") == str(port)
    assert compose()["ports"] == [f"127.0.0.1:{port}:{port}"]
    (container,), (service,) = pod()["containers"], cluster()["Service"]["spec"]["ports"]
    assert container["ports"] == [{"name": "http", "containerPort": port}]
    assert (service["port"], service["targetPort"]) == (port, "http")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running([save(tmp_path_factory.mktemp("model") / "de-en", untrained("bytes"))]) as found:
        yield found


def test_the_probes_ask_for_a_path_that_answers(service: Running) -> None:
    (container,) = pod()["containers"]
    probes = [value["httpGet"] for key, value in container.items() if key.endswith("Probe")]
    assert len(probes) == 3
    assert [each["port"] for each in probes] == ["http"] * 3
    with TestClient(service.server.config.app) as client:
        assert [client.get(each["path"]).status_code for each in probes] == [200] * 3


@pytest.mark.parametrize(("is_running", "code"), [(True, 0), (False, 1)])
def test_the_health_check_of_the_image_tells_whether_the_service_runs(
    service: Running, is_running: bool, code: int
) -> None:
    _, _, check = last("HEALTHCHECK").partition("CMD ")
    _, option, program = json.loads(check)
    assert f", {DEFAULTS.port}," in program
    port = service.port if is_running else 1
    program = program.replace(f", {DEFAULTS.port},", f", {port},")
    assert subprocess.run([sys.executable, option, program], stderr=-3).returncode == code


def mounts(name: str) -> list[str]:
    """The paths of the volumes and secrets that a file mounts."""
    if name == "kubernetes.yaml":
        return [each["mountPath"] for each in pod()["containers"][0]["volumeMounts"]]
    secrets = [f"/run/secrets/{each}" for each in compose()["secrets"]]
    return [*(each.split(":")[1] for each in compose()["volumes"]), *secrets]


@pytest.mark.parametrize("name", ["compose.yaml", "kubernetes.yaml"])
def test_every_path_of_a_command_is_on_a_volume(name: str) -> None:
    lines = "\n".join("\n".join(arguments) for file, arguments in COMMANDS if file == name)
    paths = re.findall(r"(?:^|=)(/.*)", lines, re.MULTILINE)
    assert {Path(each).name for each in paths} == {"en-de", "en-de.db", "keys.toml"}
    assert [each for each in paths if not each.startswith((*mounts(name),))] == []


def test_the_root_is_read_only_and_temporary_files_have_a_place() -> None:
    assert compose()["read_only"] and compose()["tmpfs"][0].startswith("/tmp")
    for container in (*pod()["initContainers"], *pod()["containers"]):
        context = container["securityContext"]
        assert context["readOnlyRootFilesystem"] and not context["allowPrivilegeEscalation"]
        assert context["capabilities"] == {"drop": ["ALL"]}
    volumes = {each["mountPath"]: each["name"] for each in pod()["containers"][0]["volumeMounts"]}
    assert {"name": volumes["/tmp"], "emptyDir": {"sizeLimit": "2Gi"}} in pod()["volumes"]
    assert unit()["Service"]["ProtectSystem"] == "strict"
    assert unit()["Service"]["PrivateTmp"] == "yes"


def test_the_user_is_not_root_and_owns_the_memory() -> None:
    user, group = map(int, last("USER").split(":"))
    assert user > 0 and f"install -d -o {user} -g {group} /memory" in last("RUN")
    context = pod()["securityContext"]
    assert context["runAsNonRoot"]
    assert (context["runAsUser"], context["runAsGroup"], context["fsGroup"]) == (user, group, group)
    assert unit()["Service"]["DynamicUser"] == "yes"


def test_requests_have_time_to_finish() -> None:
    needed = DEFAULTS.shutdown_seconds + 1
    assert int(compose()["stop_grace_period"].removesuffix("s")) > needed
    assert pod()["terminationGracePeriodSeconds"] > needed
    assert int(unit()["Service"]["TimeoutStopSec"]) > needed


def test_the_volumes_and_the_secrets_that_are_mounted_exist() -> None:
    resources = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))
    claims = {each["metadata"]["name"] for each in resources if each["kind"].endswith("Claim")}
    named = {each["name"]: each for each in pod()["volumes"]}
    assert {named[name]["persistentVolumeClaim"]["claimName"] for name in ("models", "memory")} == (
        claims
    )
    for container in (*pod()["initContainers"], *pod()["containers"]):
        assert {each["name"] for each in container["volumeMounts"]} <= set(named)
    selector = cluster()["Service"]["spec"]["selector"]
    assert selector == cluster()["Deployment"]["spec"]["template"]["metadata"]["labels"]


def test_the_image_and_the_single_file_have_the_extras_that_serving_needs() -> None:
    for path in (DEPLOY / "Containerfile", ROOT / "scripts" / "standalone"):
        (extras,) = re.findall(r"constraints\.txt '\.\[([\w,]+)\]'", path.read_text())
        assert set(extras.split(",")) == {"corpora", "serve"} <= set(EXTRAS)
