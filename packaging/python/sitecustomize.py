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
    from weakref import ref
    from torch.nn.modules import module as modules
    library = PyDLL(None)
    begin_call, end_call = library.warpsheet_module_begin, library.warpsheet_module_end
    begin_call.argtypes, begin_call.restype, end_call.restype = [c_char_p], None, None
    is_compiling = torch.compiler.is_compiling
    texts, of_thread = {}, local()

    def text_of(module, outer, root):
        """By the name that the caller, or else the root, has for it."""
        kind = type(module).__name__
        try:
            inner = next(name for above in (outer, root) for name, below in above.named_modules() if below is module)
        except Exception:  # it is in neither
            inner = ""
        return ("nn.Module: " + (f"{inner} ({kind})" if inner else kind)).encode()

    def begin(module, _):
        if is_compiling():
            return
        try:
            calls = of_thread.calls
        except AttributeError:
            calls = of_thread.calls = []
        outer = calls[-1] if calls else module
        key = id(module), id(outer)
        known = texts.get(key)
        if not known or known[0]() is not module or known[1]() is not outer:
            if len(texts) > 50000:
                texts.clear()
            known = texts[key] = ref(module), ref(outer), text_of(module, outer, calls[0] if calls else module)
        begin_call(known[2])
        calls.append(module)

    def end(module, _, __):
        if is_compiling():
            return
        calls = getattr(of_thread, "calls", None)
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
