# What `warpsheet record --pytorch` adds to a Python program: calls of modules of torch.nn become
# ranges. Python imports this file as it starts (PYTHONPATH); the sitecustomize that would have been
# imported without us follows. Nothing here may stop the program or change what it sees.
import os
import sys


def _chain():
    """Our folder leaves the path, and the user's own sitecustomize runs as if we were not there."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [p for p in sys.path if os.path.abspath(p) != here]
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec
    spec = PathFinder.find_spec("sitecustomize")
    if spec and spec.loader:
        module = module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


def _hook(torch):
    from ctypes import PyDLL, c_char_p
    from threading import local
    from weakref import WeakKeyDictionary
    from torch.nn.modules import module as modules
    library = PyDLL(None)
    begin_call, end_call = library.warpsheet_module_begin, library.warpsheet_module_end
    begin_call.argtypes, begin_call.restype, end_call.restype = [c_char_p], None, None
    is_compiling = torch.compiler.is_compiling
    names, texts, of_thread = WeakKeyDictionary(), {}, local()

    def begin(module, _):
        if is_compiling():
            return
        calls = of_thread.__dict__.setdefault("calls", [])
        if module not in names or not calls:  # a root: each below it goes by the name that its parent has for it
            names.update((below, name) for name, below in module.named_modules())
        name, outer = names.get(module, ""), names.get(calls[-1], "") if calls else ""
        key = (type(module), name, outer)
        text = texts.get(key)
        if text is None:
            inner = name[len(outer) + 1:] if outer and name.startswith(outer + ".") else name
            kind = type(module).__name__
            text = texts[key] = ("nn.Module: " + (f"{inner} ({kind})" if inner else kind)).encode()
        begin_call(text)
        calls.append(module)

    def end(module, _, __):
        if is_compiling():
            return
        calls = of_thread.__dict__.get("calls")
        while calls:
            end_call()
            if calls.pop() is module:
                break

    modules.register_module_forward_pre_hook(begin)
    modules.register_module_forward_hook(end, always_call=True)


class _Finder:
    """Waits for `import torch`, and then is gone."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        from importlib.util import find_spec
        spec = find_spec(name)
        if spec and spec.loader:
            run = spec.loader.exec_module

            def run_and_hook(module):
                run(module)
                try:
                    _hook(module)
                except Exception:  # a PyTorch without these: no modules
                    pass
            spec.loader.exec_module = run_and_hook
        return spec


try:
    if os.environ.get("WARPSHEET_PYTORCH", "off") != "off":
        sys.meta_path.insert(0, _Finder())
finally:
    _chain()
