"""Where the words, the scripts and the styles live."""

from pathlib import Path

import bokeh

ROOT = Path(__file__).resolve().parents[1]
CONTENT = ROOT / "content"
STATIC = ROOT / "static"
BOKEH_SCRIPT = Path(bokeh.__file__).parent / "server" / "static" / "js" / "bokeh.min.js"
