"""Calls of modules of torch.nn become ranges of a recording: run by sitecustomize.py once PyTorch is imported."""
import sys
from ctypes import PyDLL, c_char_p, c_int32, c_uint64
from threading import local
from weakref import ref


def hook(torch):
    from torch.nn.modules import module as modules
    library = PyDLL(None)
    begin_call, end_call = library.warpsheet_module_begin, library.warpsheet_module_end
    begin_call.argtypes, begin_call.restype, end_call.restype = [c_char_p], None, None
    begin_root, end_root = library.warpsheet_root_begin, library.warpsheet_root_end
    begin_root.argtypes, begin_root.restype = [c_char_p, c_uint64], None
    end_root.argtypes, end_root.restype = [c_uint64], None
    records_modules = c_int32.in_dll(library, "warpsheet_records_modules")  # below the root
    is_compiling, is_grad_enabled, Tensor = torch.compiler.is_compiling, torch.is_grad_enabled, torch.Tensor
    # asked first, in each call of each module: Dynamo takes both for constants, and this one takes a third of the time
    is_dynamo_compiling = getattr(torch.compiler, "is_dynamo_compiling", is_compiling)
    backward_task = getattr(torch._C, "_current_graph_task_id", lambda: -1)
    called = [0]  # hash of the modules called in a root's call
    texts, inside, of_thread = {}, {}, local()
    instances = {}  # kind -> those of it that were called as a root, or stepped

    def instance_text(thing):
        """"Adam 2" of the second Adam, "Adam" of the first: programs that train several models have
        one each. There are no names for more than 16, which are made where they are used."""
        kind = type(thing).__name__
        known = instances.setdefault(kind, [])
        at = next((i for i, other in enumerate(known) if other() is thing), None)
        if at is None:
            at = next((i for i, other in enumerate(known) if other() is None), len(known))
            known[at:at + 1] = [ref(thing)] if at < 16 else []
        return "%s %d" % (kind, at + 1) if 0 < at < 16 else kind

    def look_inside(module):
        inside.update((id(below), ref(below)) for below in module.modules() if below is not module)

    def is_inside(module):
        """A new module may lie where one that is gone did."""
        below = inside.get(id(module))
        return below and below() is module

    def text_of(module, outer, root):
        """By the name that the caller, or else the root, has for it. One that is made where it is called has none: all
        are looked through for such ones once in a call of the root, not each time."""
        kind, inner = type(module).__name__, ""
        try:
            if not is_inside(module) and not of_thread.is_searched:
                look_inside(root)
                of_thread.is_searched = True
            if is_inside(module):
                inner = next(name for above in (outer, root) for name, below in above.named_modules() if below is module)
            else:
                look_inside(module)
        except Exception:  # it is in neither
            pass
        kind = kind if inner or module is not root else instance_text(module)
        return ("nn.Module: " + ("%s (%s)" % (inner, kind) if inner else kind)).encode()

    def shapes(value):
        if isinstance(value, Tensor):
            return tuple(value.shape)
        if isinstance(value, (list, tuple)):
            return tuple(shapes(v) for v in value)
        if isinstance(value, dict):
            return tuple(shapes(v) for v in value.values())
        return type(value).__name__

    def inputs_hash(module, inputs):
        """What a call works on, as far as it decides which operations it is."""
        seen = 0
        try:
            named = sys._getframe(2).f_locals.get("kwargs")  # of PyTorch's function that calls hooks, which get none
            seen = hash((module.training, is_grad_enabled(), shapes(inputs), shapes(named)))
        except Exception:  # a tensor that has no shape
            pass
        return seen & 0xffffffffffffffff

    def begin(module, inputs):
        if is_dynamo_compiling():
            return
        called[0] = (called[0] * 33 + id(module)) & 0xffffffffffff
        try:
            calls = of_thread.calls
        except AttributeError:
            calls = of_thread.calls = []
        if not records_modules.value and (calls or backward_task() != -1):
            return
        if is_compiling():
            return
        if not calls:
            of_thread.is_searched = False
        outer = calls[-1] if calls else module
        key = id(module), id(outer)
        known = texts.get(key)
        if not known or known[0]() is not module or known[1]() is not outer:
            if len(texts) > 50000 or len(inside) > 500000:
                texts.clear()
                inside.clear()
                of_thread.is_searched = False
            known = texts[key] = ref(module), ref(outer), text_of(module, outer, calls[0] if calls else module)
        if not calls and backward_task() == -1:
            called[0] = 0
            begin_root(known[2], inputs_hash(module, inputs))
        begin_call(known[2])
        calls.append(module)

    def end(module, _, __):
        if is_dynamo_compiling():
            return
        calls = getattr(of_thread, "calls", None)
        if not calls or (calls[-1] is not module and (len(calls) < 2 or not any(known is module for known in calls))):
            return
        while calls:
            end_call()
            if calls.pop() is module:
                break
        if not calls and backward_task() == -1:
            end_root(called[0])

    def step(optimizer, _, __):
        text = instance_text(optimizer)
        if text != type(optimizer).__name__:
            step_of(text.encode())

    modules.register_module_forward_pre_hook(begin)
    modules.register_module_forward_hook(end, always_call=True)
    from torch.optim.optimizer import register_optimizer_step_pre_hook
    step_of = library.warpsheet_optimizer
    step_of.argtypes, step_of.restype = [c_char_p], None
    register_optimizer_step_pre_hook(step)
