"""`hitrate models`: the ids and prices that a target lists."""

from __future__ import annotations

from typing import Any

import click

from hitrate.cli.options import output_options, target_options


@click.command()
@click.argument("target")
@target_options
@output_options
def models(
    target: str,
    model: str | None,
    base_url: str | None,
    key_variable: str | None,
    header: dict[str, str],
    timeout: float,
    output: str | None,
    html_file: str | None,
) -> int:
    """List exact model ids with their prices, where the target shows them.

    With --model, that one alone; a wrong id is answered with the nearest ones.
    """
    from hitrate.cli.showing import show
    from hitrate.cli.started import started
    from hitrate.live import loop

    with started(target, base_url=base_url, key_variable=key_variable, practice={}) as start:
        listed = loop.run(_listed(start, header, timeout))
    show(_model_list(start.target.name, listed, model), output, html_file)
    return 0


async def _listed(start: Any, headers: dict[str, str], timeout: float) -> list[Any]:
    """Raises TargetError where the target shows no list."""
    import msgspec

    from hitrate.errors import KeyRefused, TargetError
    from hitrate.live.failures import where_to_mend_the_key
    from hitrate.live.session import connected
    from hitrate.targets.models import parse_models

    opening = connected(start.target, key=start.key, headers=headers, timeout_s=timeout)
    async with opening as client:
        try:
            listed = await client.get_json("/models")
            return parse_models(msgspec.json.encode(listed))
        except KeyRefused as error:
            where = where_to_mend_the_key(start.target)
            raise KeyRefused(f"{start.target.name} refused the key ({error.message}); {where}") from None
        except ValueError as error:
            raise TargetError(f"{start.target.name}: GET /models: {error}") from None


def _model_list(target: str, listed: list[Any], wanted: str | None) -> Any:
    from hitrate.core.listings import ModelEntry, ModelList
    from hitrate.errors import ModelNotFound
    from hitrate.targets.models import nearest_ids

    ids = [entry.id for entry in listed]
    if wanted is not None and wanted not in ids:
        near = nearest_ids(wanted, ids)
        where = f"nearest ids: {', '.join(near)}" if near else f"it lists {len(ids)} others"
        raise ModelNotFound(f"{target} lists no model '{wanted}'; {where}")
    chosen = [entry for entry in listed if wanted is None or entry.id == wanted]
    return ModelList(
        target=target,
        models=tuple(
            ModelEntry(
                id=entry.id,
                context_tokens=entry.context_tokens,
                input_usd_per_mtok=entry.price.input_usd_per_mtok,
                cached_usd_per_mtok=entry.price.cached_usd_per_mtok,
                written_usd_per_mtok=entry.price.written_usd_per_mtok,
                output_usd_per_mtok=entry.price.output_usd_per_mtok,
                source=entry.price.source or None,
            )
            for entry in chosen
        ),
        warnings=() if any(entry.price.known for entry in chosen) else (f"{target} lists no prices here",),
    )
