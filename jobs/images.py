"""The images that pods are made of: found by the key of their content, built where absent.

Talks to the engine; reads the Dockerfiles beside it, the packages for the sidecar and the lock file.
"""

import importlib.util
import os
import time
import tomllib
from collections.abc import Callable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import platformdirs
from filelock import FileLock

from jobs.base import find_base, find_default_base
from jobs.certificates import extra_certificates
from jobs.engine import Engine
from jobs.errors import ImageUnfitError
from jobs.pod import OURS
from jobs.recipe import KIND_LABEL, Recipe, label_stages

FOLDER = Path(__file__).parent / "image"
LOCK_FILE = Path(__file__).parent.parent / "requirements.lock"
SIDECAR_PACKAGES = ("proxy", "instrument.schema")
"""What its program imports of ours: a change of anything else makes no other image."""
HOST_ARGS = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "FTP_PROXY")
"""The builder knows these by itself: they reach its steps and stay out of the image."""
REGISTRY_ARGS = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "NPM_CONFIG_REGISTRY")
"""A person's own mirrors, for the one step that uses each."""
TRUST_STORE = "/etc/ssl/certs/ca-certificates.crt"
TRUST_NAMES = ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO")
"""Programs that bring a list of their own, told to use the system's, which holds the extra ones."""
LOG_TAIL_CHARACTERS = 2000


def default_locks() -> Path:
    """Where processes of this user meet so that an image is built once."""
    return platformdirs.user_cache_path("factory-loop") / "locks"


class ImageShelf:
    """The images of one engine. `say` gets one sentence before each thing that takes minutes."""

    def __init__(
        self,
        engine: Engine,
        *,
        locks: Path | None = None,
        say: Callable[[str], None] = lambda _line: None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._engine = engine
        self._locks = locks or default_locks()
        self._say = say
        self._environment = environment
        self._versions = tomllib.loads((FOLDER / "versions.toml").read_text(encoding="utf-8"))

    def base(self, reference: str | None, dockerfile: str | None = None) -> tuple[str, str]:
        """Name and id of the image that a repo's jobs are based on.

        Args:
            reference: `[image] base`; none for the default.
            dockerfile: `[image] dockerfile` as text, built without files beside it; its argument
                BASE is the default base.

        Raises:
            ImageUnfitError: It cannot be had.
        """
        if dockerfile is not None:
            name, image = self.base(None)
            recipe = Recipe("base", label_stages(dockerfile, "base"), {}, {"BASE": name}, (image,))
            return recipe.tag, self.build(recipe)
        if reference is not None:
            return reference, find_base(self._engine.images, reference).id
        with self.lock("base"):
            base = self._versions["base"]
            name, found = find_default_base(
                self._engine.images,
                self._engine.info(),
                reference=base["image"],
                suite=base["suite"],
                say=self._say,
            )
        return name, found.id

    def agent(self) -> tuple[str, str]:
        """Tag and id of the image that holds the agent programs and nothing else."""
        name, image = self.base(None)
        args = {"BASE": name, **_agent_args(self._versions["agent"])}
        files = {**self._trust(), "fetch.sh": (FOLDER / "fetch.sh").read_bytes()}
        recipe = Recipe("agent", _dockerfile("agent"), files, args, (image,))
        return recipe.tag, self.build(recipe)

    def job(
        self, reference: str | None = None, dockerfile: str | None = None, *, has_docker: bool = False
    ) -> str:
        """Id of the image that jobs of this base start from.

        Args:
            reference: See `base`.
            dockerfile: See `base`.
            has_docker: Whether it holds a Docker daemon: one more layer, which nobody else pays for.

        Raises:
            ImageUnfitError: A build failed; the evidence is its log.
        """
        name, image = self.base(reference, dockerfile)
        agent_tag, agent_image = self.agent()
        args = {"BASE": name, "AGENT": agent_tag, "PACKAGES": " ".join(self._versions["job"]["packages"])}
        job = Recipe("job", _dockerfile("job"), self._trust(), args, (image, agent_image))
        built = self.build(job)
        if not has_docker:
            return built
        return self.build(Recipe("docker", _dockerfile("docker"), {}, {"BASE": job.tag}, (built,)))

    def sidecar(self) -> str:
        """Id of the proxy's image; a change of our code gives another one, compiled within a minute."""
        name, image = self.base(None)
        files = {
            **self._trust(),
            "requirements.txt": self._packages("sidecar"),
            "constraints.txt": _constraints(),
        }
        python = Recipe("python", _dockerfile("python"), files, {"BASE": name}, (image,))
        parent = self.build(python)
        pins = {**self._trust(), "requirements.txt": self._packages("compiler")}
        compiler = Recipe("compiler", _dockerfile("compiler"), pins, {"BASE": python.tag}, (parent,))
        code = {
            f"factory/{path}": data
            for package in SIDECAR_PACKAGES
            for path, data in _package_files(package).items()
        }
        args = {"BASE": python.tag, "COMPILER": compiler.tag}
        sidecar = Recipe("sidecar", _dockerfile("sidecar"), code, args, (parent,))
        if self._engine.images.inspect(sidecar.tag) is None:
            # Needed for nothing else: without it a made sidecar serves on.
            self.build(compiler)
        return self.build(sidecar)

    def _packages(self, kind: str) -> bytes:
        """What pip installs for this kind of image, one a line."""
        return "\n".join(self._versions[kind]["packages"]).encode() + b"\n"

    def build(self, recipe: Recipe) -> str:
        """Find the recipe's image or build it, under a lock that all builds of this user share.

        Raises:
            ImageUnfitError: A step failed; the evidence is the build's log.
        """
        found = self._engine.images.inspect(recipe.tag)
        if found is not None:
            return found.id
        with self.lock("build"):
            found = self._engine.images.inspect(recipe.tag)
            return found.id if found is not None else self._build(recipe)

    def _build(self, recipe: Recipe) -> str:
        self._say(f"Building image {recipe.tag} (once).")
        log: list[str] = []
        began = time.monotonic()
        try:
            image = self._engine.images.build(
                recipe.context(),
                recipe.tag,
                args={**host_args(self._environment), **recipe.args},
                network=self._environment.get("FACTORY_BUILD_NETWORK") or None,
                log=log.append,
            )
        except ImageUnfitError as error:
            path = self._locks / f"build-{recipe.kind}-{recipe.key}.log"
            text = "".join(log)
            path.write_text(f"{text}\n{error}\n", encoding="utf-8")
            tail = " ".join(text[-LOG_TAIL_CHARACTERS:].splitlines()[-3:])
            raise ImageUnfitError(
                f"Image {recipe.kind} could not be built: {error} [{tail}]", evidence=str(path)
            ) from error
        finally:
            self._drop_stages()
        self._say(f"Built {recipe.tag} in {time.monotonic() - began:.0f} s.")
        return image

    def _drop_stages(self) -> None:
        """First stages are big and nothing is left of them in the result."""
        for image in self._engine.images.find({OURS: "1", KIND_LABEL: "stage"}):
            if not [tag for tag in image.tags if tag != "<none>:<none>"]:
                self._engine.images.remove(image.id)

    def lock(self, name: str) -> FileLock:
        """A lock between processes of this user on this machine."""
        self._locks.mkdir(parents=True, exist_ok=True, mode=0o700)
        return FileLock(self._locks / f"{name}.lock")

    def _trust(self) -> dict[str, bytes]:
        certificates = extra_certificates(self._environment)
        files = {f"ca/{name}": data for name, data in certificates.items()}
        return {"ca/": b"", **files, "install.sh": (FOLDER / "install.sh").read_bytes()}

    def network_env(self, *, has_proxies: bool) -> dict[str, str]:
        """What a set-up command needs to reach the network as this machine does; mostly empty.

        Args:
            has_proxies: Whether this machine's own HTTP proxies are among it.
        """
        trusted = TRUST_NAMES if extra_certificates(self._environment) else ()
        ways = host_args(self._environment)
        if not has_proxies:
            ways = {name: value for name, value in ways.items() if name.upper() not in HOST_ARGS}
        return {**dict.fromkeys(trusted, TRUST_STORE), **ways}


def host_args(environment: Mapping[str, str]) -> dict[str, str]:
    """The proxy and mirror settings of this machine; may be empty."""
    names = (*HOST_ARGS, *(name.lower() for name in HOST_ARGS), *REGISTRY_ARGS)
    return {name: environment[name] for name in names if environment.get(name)}


def _agent_args(programs: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Where each program comes from on each architecture, as the Dockerfile's arguments."""
    return {
        f"{program}_{arch}".upper(): " ".join(source).format(version=entry["version"])
        for program, entry in programs.items()
        for arch, source in entry.items()
        if arch != "version"
    }


def _dockerfile(kind: str) -> str:
    return (FOLDER / f"Dockerfile.{kind}").read_text(encoding="utf-8")


def _package_files(package: str) -> dict[str, bytes]:
    """Every file of one of our packages, found without importing it: `jobs` knows no proxy."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ImageUnfitError(
            f"The package {package} is not installed beside this one; install the project whole."
        )
    root = Path(spec.submodule_search_locations[0])
    return {
        f"{package.replace('.', '/')}/{path.relative_to(root).as_posix()}": path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def _constraints() -> bytes:
    """Pinned versions: the lock file of a checkout, else what this environment has installed."""
    if LOCK_FILE.is_file():
        lines = LOCK_FILE.read_text(encoding="utf-8").splitlines()
        return "\n".join(line for line in lines if "==" in line).encode() + b"\n"
    pins = {f"{dist.name}=={dist.version}" for dist in metadata.distributions() if dist.name != OURS}
    return "\n".join(sorted(pins)).encode() + b"\n"
