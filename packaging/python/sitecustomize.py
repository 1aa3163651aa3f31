# `warpsheet record --pytorch` adds this file to a Python program, which imports it as it starts (PYTHONPATH). It waits
# for `import torch` and then runs torch_modules.py beside it. The sitecustomize that would have been imported without us
# follows. Nothing here may stop the program or change what it sees. This file is compiled at each start of a Python, also
# of those without PyTorch, so it is short. Python 2, which a recorded program may start, reads it as well: it must be
# valid there, and only hands on to the user's file.
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))


def _chain():
    """Our folder leaves the path, and the user's own sitecustomize runs as if we were not there."""
    sys.path[:] = [p for p in sys.path if os.path.abspath(p) != _here]
    if sys.version_info[0] < 3:
        _chain_2()
        return
    # those of importlib.util, which loads a dozen of modules: a program that does nothing takes half as long again
    from _frozen_importlib import module_from_spec
    from _frozen_importlib_external import PathFinder
    spec = PathFinder.find_spec("sitecustomize")
    if spec and spec.loader:
        module = module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


def _chain_2():
    from imp import find_module, load_module
    try:
        found = find_module("sitecustomize", sys.path)
    except ImportError:  # the user has none
        return
    # Python 2 empties a module that nothing holds, and load_module would run the user's file in ours
    ours = sys.modules.pop("sitecustomize")
    try:
        load_module("sitecustomize", *found)
    finally:
        if found[0]:
            found[0].close()
        del ours


class _Finder(object):
    """Waits for `import torch`, and then is gone."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        from importlib.util import find_spec, module_from_spec, spec_from_file_location
        spec = find_spec(name)
        if spec and spec.loader:
            run = spec.loader.exec_module

            def run_and_hook(module):
                run(module)
                try:
                    hooks = spec_from_file_location("warpsheet_torch_modules", os.path.join(_here, "torch_modules.py"))
                    loaded = module_from_spec(hooks)
                    hooks.loader.exec_module(loaded)
                    loaded.hook(module)
                except Exception:  # a PyTorch without these: no modules
                    pass
            spec.loader.exec_module = run_and_hook
        return spec


try:
    if sys.version_info[0] >= 3 and os.environ.get("WARPSHEET_PYTORCH", "off") != "off":
        sys.meta_path.insert(0, _Finder())
finally:
    _chain()
