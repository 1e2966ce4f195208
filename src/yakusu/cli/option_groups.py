"""Groups of options, from each of which a verb gets one argument."""

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter, signature
from typing import Any, get_args


def grouped(
    into: str, options: Mapping[str, Any], build: Callable[[dict[str, Any]], Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds options to a verb, which gets them as one argument.

    Args:
        into: The name of the argument.
        options: The annotation of each option. An option that is not given is None; a flag is
            False.
        build: Makes the argument from the value of each option.
    """

    def decorate(verb: Callable[..., None]) -> Callable[..., None]:
        own = [p for p in signature(verb).parameters.values() if p.name != into]
        added = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=_default(kind), annotation=kind)
            for name, kind in options.items()
        ]
        parameters = [p.replace(kind=Parameter.KEYWORD_ONLY) for p in (*own, *added)]

        @wraps(verb)
        def run(**values: Any) -> None:
            given = {name: values.pop(name) for name in options if name in values}
            verb(**values, **{into: build(given)})

        run.__signature__ = signature(verb).replace(  # type: ignore[attr-defined]
            parameters=parameters
        )
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        return run

    return decorate


def _default(kind: Any) -> bool | None:
    return False if get_args(kind)[0] is bool else None
