# kernels of CUDA graphs: where each was captured, by hand. The times are planted: tests/recorder/cuda/planted.c
# shellcheck source=tests/cli/cuda/record.inc
. "$(dirname "$0")/record.inc"

# as planted, and prints how often which kernel ran, for how long, in which range its graph was launched or it was captured, and in how many steps
graphs() {
	planted "$@"
	ask "SELECT name, path, count(*), sum(dur_ns), count(DISTINCT step) FROM kernel GROUP BY 1, 2 ORDER BY 1, 2"
	losses
}

# a graph of two layers, launched in two steps
layers='range start-up
range layer0
node A gemm 100
end
range layer1
node A gemm 200
end
end
instantiate A X'
replays='step
replay X
end
step
replay X
end'

printf '%s\n' "$layers" "$replays" >program
for version in 26 130001 130100 130400; do
	graphs "CUPTI $version" FAKE_CUPTI_VERSION=$version <program
done
graphs 'the capture lies outside what is recorded' --capture-range step <program
graphs 'graphs as wholes have no kernels' --graph-level graph <program
graphs 'the graph is destroyed before its replays end' <<END
$layers
destroy A
step
replay X
destroy X
end
wait
END
for version in 130001 130400; do
	graphs "cloned, and instantiated twice, CUPTI $version" FAKE_CUPTI_VERSION=$version <<END
$layers
clone A B
instantiate B Y
$replays
step
replay Y
end
END
	graphs "a child graph and the body of a condition, CUPTI $version" FAKE_CUPTI_VERSION=$version <<END
range body
node B relu 30
end
range child
node C norm 40
end
range parent
node A gemm 100
end
child A C
body A B
instantiate A X
$replays
END
	graphs "updated between two replays, CUPTI $version" FAKE_CUPTI_VERSION=$version <<END
range first
node A gemm 100
end
range second
node B gemm 300
end
instantiate A X
step
replay X
end
update X B
step
replay X
replay X
end
END
	graphs "two captures at once, CUPTI $version" FAKE_CUPTI_VERSION=$version <<END
range one
node A gemm 100
beside two B gemm 200
range inner
node A relu 10
node B relu 20
end
end
instantiate A X
instantiate B Y
step
replay X
replay Y
end
END
done
