"""Who can be asked, and how: presets (facts as data), dialects (wire formats), model lists and prices."""
