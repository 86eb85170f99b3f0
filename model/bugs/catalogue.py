"""All bugs of the lab, in the order the page shows them."""

from model.bugs import (
    copies,
    drafts,
    heads,
    masks,
    paging,
    positions,
    quantised,
    reuse,
    rotary,
    rounding,
    slots,
    source,
    windows,
)
from model.bugs.bug import Bug

BUGS: dict[str, Bug] = {
    **{name: masks.BUGS[name] for name in ("top-left-mask", "mask-skipped")},
    **slots.BUGS,
    **positions.BUGS,
    **reuse.BUGS,
    **rounding.BUGS,
    **source.BUGS,
    **copies.BUGS,
    **heads.BUGS,
    "window-plus-one": masks.BUGS["window-plus-one"],
    **windows.BUGS,
    **rotary.BUGS,
    **quantised.BUGS,
    **paging.BUGS,
    **drafts.BUGS,
}
