"""What torch_steps.py and steps_golden.py compare: cases, dumps, figures."""
import array
import collections

Case = collections.namedtuple("Case", "name model optimizer clip steps classes options")


def case(model, optimizer, *options, clip=0, name=None):
    options = ["--optimizer", optimizer] + list(options)
    if optimizer == "sgd":
        options += ["--weight-decay", "1e-3"]
    if clip:
        options += ["--clip-norm", str(clip)]
    classes = 1 if model == "conv1d-resnet" else 10
    return Case(name or "%s %s" % (model, optimizer), model, optimizer, clip, 3, classes, options)


SMALL = ("--image-size", "64", "--width-divisor", "16", "--classes", "10")
CASES = [
    case("mlp", "adam", "--width-divisor", "4"),
    case("mlp", "adamw", "--width-divisor", "4", "--optimizer-impl", "fused"),
    case("mlp", "sgd", "--width-divisor", "4", "--optimizer-impl", "fused"),
    case("mlp-256", "sgd"),
    case("mlp-256", "adamw", clip=0.5, name="mlp-256 adamw clipped"),
    case("lenet5", "adam"),
    case("lenet5", "adam", "--fusion", "full", name="lenet5 adam fused"),
    case("lenet-caffe", "sgd", "--width-divisor", "4"),
    case("toy-mixed", "adamw"),
    case("alexnet", "sgd", "--image-size", "224", "--width-divisor", "16", "--classes", "10"),
    case("vgg11", "adam", *SMALL),
    case("vgg16", "sgd", *SMALL),
    case("resnet18", "sgd", *SMALL),
    case("resnet50", "adam", *SMALL),
    case("conv1d-resnet", "adam"),
    case("conv1d-resnet", "adam", "--residual", "yes", name="conv1d-resnet residual"),
    case("transformer-tiny", "adamw-cs336", "--context", "16"),
    case("transformer-tiny", "adamw", "--context", "16", clip=1, name="transformer-tiny clipped"),
]

# those whose kernels are counted, at their own size
COUNTED = ["mlp", "mlp-256", "lenet5", "lenet-caffe", "toy-mixed", "alexnet", "vgg11", "vgg16",
           "resnet18", "resnet50", "conv1d-resnet", "transformer-tiny", "transformer-small"]
# optimizers whose kernels are counted, on mlp's six tensors; sgd has momentum and a decay
OPTIMIZER_FORMS = [(name, form) for name in ("sgd", "adam", "adamw")
                   for form in ("loop", "foreach", "fused")]


class Tensor:
    """Numbers of a dump without numpy."""

    def __init__(self, shape, values):
        self.shape, self.values = shape, values

    def copy(self):
        import numpy

        return numpy.array(self.values).reshape(self.shape)


def read_dump(path):
    """{(kind, step): {name: Tensor}}"""
    found = collections.defaultdict(dict)
    with open(path, "rb") as dump:
        for line in iter(dump.readline, b""):
            kind, step, name, *dims = line.decode().split()
            shape, count = [int(d) for d in dims], 1
            for d in shape:
                count *= d
            values = array.array("d")
            values.fromfile(dump, count)
            found[(kind, int(step))][name] = Tensor(shape, values)
    return found


def norm(tensors):
    return sum(float(x) ** 2 for t in tensors for x in t) ** 0.5


def figures(made):
    """[(loss, norm of all gradients, norm of all parameters)] of each step; values are flat."""
    rows = []
    for (kind, step), tensors in sorted(made.items()):
        if kind == "loss":
            def flat(kind):
                return [t.values if isinstance(t, Tensor) else t.flatten().tolist()
                        for t in made[(kind, step)].values()]

            rows.append((flat("loss")[0][0], norm(flat("gradient")), norm(flat("parameter"))))
    return rows


def figures_text(case_, rows):
    return "".join("%s\t%d\t%.17g\t%.17g\t%.17g\n" % ((case_.name, i + 1) + row)
                   for i, row in enumerate(rows))
