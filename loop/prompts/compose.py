"""One pure function a role: materials and a template in, the prompt's bytes out.

Limits: reads nothing but the default templates beside it.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources

from jinja2 import StrictUndefined, Template, TemplateError, TemplateSyntaxError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from instrument.schema.vocabulary import Role
from loop.problems import Problem, Problems
from loop.prompts import sections
from loop.prompts.materials import CoderMaterials, ResolverMaterials, ReviewerMaterials
from loop.verdict import verdict_template

REQUIRED = {
    Role.CODER: ("task", "rulings", "failed", "findings"),
    Role.REVIEWER: ("task", "rulings", "closed", "checks", "diff", "paths", "left_out", "verdict_form"),
    Role.RESOLVER: ("task", "stop", "asked", "failed", "findings", "rulings", "tried", "leads"),
}
"""Sections that a template of one's own must place, each exactly once."""
ADDED = {
    Role.CODER: {"conflict": "# Your earlier change, to be made again on this tree"},
    Role.REVIEWER: {
        "declared": "# The coder declares that no change is needed: judge the base",
        "compared": "# Facts about the tests",
    },
    Role.RESOLVER: {},
}
"""Sections that follow, under these headings, where a template of one's own does not place them."""
_MARK = re.compile("\0([a-z_]+)\0")
_RENDER_ERRORS = (
    TemplateError,
    ArithmeticError,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    RecursionError,
)


def coder_prompt(
    materials: CoderMaterials, template: str | None = None, *, name: str = "coder.md.j2"
) -> bytes:
    """Compose a coder's prompt, UTF-8.

    Args:
        materials: What this round is told.
        template: The text of `[prompts] coder`; none: the default.
        name: The template's path, for problems.

    Raises:
        Problems: The template is broken, or leaves out or repeats a required section.
    """
    scalars = {"round": str(materials.round)}
    return _compose(Role.CODER, _coder_sections(materials), scalars, template, name)


def reviewer_prompt(
    materials: ReviewerMaterials, template: str | None = None, *, name: str = "reviewer.md.j2"
) -> bytes:
    """Compose a reviewer's prompt; arguments and errors as in `coder_prompt`."""
    scalars = {"round": str(materials.round), "base": materials.base}
    return _compose(Role.REVIEWER, _reviewer_sections(materials), scalars, template, name)


def resolver_prompt(materials: ResolverMaterials) -> bytes:
    """Compose a resolver's prompt, UTF-8; there is no template but ours."""
    return _compose(
        Role.RESOLVER, _resolver_sections(materials), {"base": materials.base}, None, "resolver.md.j2"
    )


def check_template(role: Role, template: str, name: str) -> None:
    """Try a template before it costs anything: with every section filled, and with each alone.

    Raises:
        Problems: As the composing functions would, at the worst moment.
    """
    known = _coder_sections(_NO_CODER) if role is Role.CODER else _reviewer_sections(_NO_REVIEW)
    scalars = {"round": "1"} | ({"base": "0" * 40} if role is Role.REVIEWER else {})
    everything = dict.fromkeys(known, "text")
    # Each required one alone, too: it may stand inside a condition on another.
    alone = [dict.fromkeys(known, "") | {key: "text"} for key in REQUIRED[role]]
    for parts in (everything, *alone):
        _compose(role, parts, scalars, template, name)


def _coder_sections(m: CoderMaterials) -> dict[str, str]:
    return {
        "task": sections.fenced(m.task, "markdown"),
        "task_diff": sections.fenced(m.task_diff, "diff"),
        "rulings": sections.ruling_blocks(m.rulings),
        "failed": sections.failed_blocks(m.failed),
        "findings": sections.finding_blocks(m.findings),
        "decisions": sections.decision_lines(m.decisions),
        "checks": sections.command_lines(m.checks),
        "files": sections.name_list((*m.files, *m.allow)),
        "allowed": sections.name_list(m.allow),
        "protected": sections.name_list(path for path in m.protected if path not in m.allow),
        "conflict": sections.fenced(m.conflict, "diff"),
    }


def _reviewer_sections(m: ReviewerMaterials) -> dict[str, str]:
    return {
        "task": sections.fenced(m.task, "markdown"),
        "task_diff": sections.fenced(m.task_diff, "diff"),
        "rulings": sections.ruling_blocks(m.rulings),
        "closed": sections.finding_blocks(m.closed),
        "findings": sections.finding_blocks(m.findings),
        "fixed": sections.finding_blocks(m.fixed),
        "changed_since": sections.fact_lines(m.changed_since),
        "decisions": sections.decision_lines(m.decisions),
        "compared": sections.fact_lines(m.compared),
        "flaky": sections.fact_lines(m.flaky),
        "declared": sections.fenced(m.declared),
        "summary": sections.fenced(m.summary),
        "checks": sections.check_table(m.checks),
        "paths": sections.path_list(m.paths),
        "left_out": sections.name_list(m.left_out),
        "diff": sections.fenced(m.diff, "diff"),
        "verdict_form": sections.fenced(verdict_template(m.token)),
    }


def _resolver_sections(m: ResolverMaterials) -> dict[str, str]:
    return {
        "task": sections.fenced(m.task, "markdown"),
        "stop": sections.fact_lines(m.stop),
        "asked": sections.fenced(m.asked),
        "failed": sections.failed_blocks(m.failed),
        "findings": sections.finding_blocks(m.findings),
        "rulings": sections.ruling_blocks(m.rulings),
        "decisions": sections.decision_lines(m.decisions),
        "tried": sections.tried_lines(m.tried),
        "leads": m.leads,
    }


_NO_CODER = CoderMaterials(task="", round=1, checks=(), files=())
_NO_REVIEW = ReviewerMaterials(task="", round=1, base="", token="", checks=(), diff="", paths=())


def _compose(
    role: Role, parts: Mapping[str, str], scalars: Mapping[str, str], template: str | None, name: str
) -> bytes:
    """Render with marks in the places of the sections, count the marks, then put the sections in.

    So a section is verbatim and stands exactly once, whatever it contains and whatever a
    template does to it; and no foreign text ever passes through the template language.
    """
    marks = {key: f"\0{key}\0" if text else "" for key, text in parts.items()}
    rendered = _render(template if template is not None else _default(role), {**scalars, **marks}, name)
    found = _MARK.findall(rendered)
    for key, heading in ADDED[role].items():
        if marks[key] and key not in found:
            rendered = f"{rendered.rstrip()}\n\n{heading}\n\n{marks[key]}\n"
    problems = [
        Problem(name, None, f"the template must place {{{{ {key} }}}} exactly once, unchanged")
        for key in parts
        if parts[key] and (found.count(key) > 1 or (key in REQUIRED[role] and found.count(key) != 1))
    ]
    if problems:
        raise Problems(problems)
    return _MARK.sub(lambda mark: parts[mark[1]], rendered).encode(errors="backslashreplace")


def _render(template: str, values: Mapping[str, str], name: str) -> str:
    if "\0" in template:
        raise Problems([Problem(name, None, "the template holds a NUL character; take it out")])
    try:
        return _compiled(template).render(values)
    except TemplateSyntaxError as error:
        raise Problems([Problem(name, error.lineno, f"the template is broken: {error.message}")]) from None
    except _RENDER_ERRORS as error:
        said = str(error).replace("\0", "").partition("\n")[0] or type(error).__name__
        raise Problems([Problem(name, None, f"the template cannot be filled: {said}")]) from None


@lru_cache(maxsize=8)
def _compiled(template: str) -> Template:
    # A repository's template is not ours: the sandbox keeps it from reaching the host through attributes.
    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    return environment.from_string(template)


def _default(role: Role) -> str:
    return resources.files("loop.prompts").joinpath(f"{role}.md.j2").read_text(encoding="utf-8")
