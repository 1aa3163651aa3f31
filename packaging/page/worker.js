"use strict";
/* Runs warpsheet on files that the page was given. They are in /in, what is made in /out; nothing leaves this machine. */
const BLOCK = 1 << 20;
const nodes = new Map([["/", {folder: true, number: 1}], ["/in", {folder: true, number: 2}], ["/out", {folder: true, number: 3}],
	["/tmp", {folder: true, number: 4}]]);
let numbers = 4, module_;

/* A file that the user gave: read where it is asked for, never as a whole. */
class Given {
	constructor(file) {
		this.file = file;
		this.blocks = new Map();
		this.number = ++numbers;
	}
	size() { return this.file.size; }
	read(at, bytes) {
		let done = 0;
		while (done < bytes.length && at + done < this.file.size) {
			const n = Math.floor((at + done) / BLOCK), from = at + done - n * BLOCK;
			if (!this.blocks.has(n)) {
				if (this.blocks.size >= 8)
					this.blocks.delete(this.blocks.keys().next().value);
				this.blocks.set(n, new Uint8Array(new FileReaderSync().readAsArrayBuffer(this.file.slice(n * BLOCK, (n + 1) * BLOCK))));
			}
			const part = this.blocks.get(n).subarray(from, from + bytes.length - done);
			bytes.set(part, done);
			done += part.length;
		}
		return done;
	}
	write() { throw failure("EACCES", this.file.name); }
	truncate() { throw failure("EACCES", this.file.name); }
	close() { this.blocks.clear(); }
}

class Made {
	constructor() {
		this.blocks = [];
		this.length = 0;
		this.number = ++numbers;
	}
	size() { return this.length; }
	read(at, bytes) {
		const n = Math.max(0, Math.min(bytes.length, this.length - at));
		for (let done = 0; done < n;) {
			const from = (at + done) % BLOCK, take = Math.min(n - done, BLOCK - from), block = this.blocks[Math.floor((at + done) / BLOCK)];
			if (block)
				bytes.set(block.subarray(from, from + take), done);
			else
				bytes.fill(0, done, done + take);
			done += take;
		}
		return n;
	}
	write(at, bytes) {
		for (let done = 0; done < bytes.length;) {
			const n = Math.floor((at + done) / BLOCK), from = (at + done) % BLOCK, take = Math.min(bytes.length - done, BLOCK - from);
			if (!this.blocks[n])
				this.blocks[n] = new Uint8Array(BLOCK);
			this.blocks[n].set(bytes.subarray(done, done + take), from);
			done += take;
		}
		this.length = Math.max(this.length, at + bytes.length);
	}
	truncate(n) {
		if (n < this.length) {
			this.blocks.length = Math.ceil(n / BLOCK);
			if (n % BLOCK)
				this.blocks[this.blocks.length - 1].fill(0, n % BLOCK);
		}
		this.length = n;
	}
	close() {}
	parts() {
		return this.blocks.map((block, i) => block.subarray(0, Math.min(BLOCK, this.length - i * BLOCK)));
	}
}

function find(path) {
	const node = nodes.get(path);
	if (!node)
		throw failure("ENOENT", path);
	return node;
}

const host = {
	open(path, {create, exclusive, truncate}) {
		if (nodes.has(path) && exclusive)
			throw failure("EEXIST", path);
		if (!nodes.has(path)) {
			if (!create)
				throw failure("ENOENT", path);
			find(path.slice(0, path.lastIndexOf("/")) || "/");
			nodes.set(path, new Made());
		}
		if (truncate)
			nodes.get(path).truncate(0);
		return nodes.get(path);
	},
	stat(path) {
		const node = find(path);
		return {type: node.folder ? "folder" : "file", size: node.folder ? 0 : node.size(), number: node.number};
	},
	list(path) {
		const before = path === "/" ? "/" : path + "/";
		return [...nodes.keys()].filter(name => name !== "/" && name.startsWith(before) && !name.slice(before.length).includes("/"))
			.map(name => name.slice(before.length));
	},
	makeFolder(path) {
		if (nodes.has(path))
			throw failure("EEXIST", path);
		nodes.set(path, {folder: true, number: ++numbers});
	},
	remove(path, isFolder) {
		if (!!find(path).folder !== isFolder)
			throw failure(isFolder ? "ENOTDIR" : "EISDIR", path);
		if (isFolder && this.list(path).length)
			throw failure("ENOTEMPTY", path);
		nodes.delete(path);
	},
	rename(a, b) {
		const moved = [...nodes.keys()].filter(name => name === a || name.startsWith(a + "/"));
		if (!moved.length)
			throw failure("ENOENT", a);
		for (const name of moved) {
			nodes.set(b + name.slice(a.length), nodes.get(name));
			nodes.delete(name);
		}
	},
};

/* Of a command: its exit code and what it printed. */
function run(args, width) {
	const printed = {1: [], 2: []};
	const decoder = new TextDecoder();
	const out = (fd, bytes) => {
		const copy = bytes.slice();
		printed[fd].push(copy);
		const progress = fd === 2 && /\r?warpsheet: (.*?): (\d+) %/.exec(decoder.decode(copy));
		if (progress)
			postMessage({progress: progress[1], percent: +progress[2]});
	};
	const text = fd => printed[fd].map(bytes => decoder.decode(bytes, {stream: true})).join("") + decoder.decode();
	let code;
	try {
		code = runWarpsheet(module_, {args: ["warpsheet", ...args], variables: ["PWD=/in", "TMPDIR=/tmp", "COLUMNS=" + width], host, out,
			isTerminal: fd => fd === 2});
	} catch (e) {
		code = e instanceof RangeError || /memory/i.test(e.message) ? 5 : 70;
		printed[2].push(new TextEncoder().encode(code === 5 ? "out of memory" : String(e)));
	}
	/* the line of progress is no message */
	return {code, out: text(1), err: text(2).replace(/[^\n]*\r|\x1b\[K/g, "").trim()};
}

onmessage = async ({data}) => {
	if (data.wasm) {
		module_ = await WebAssembly.compile(data.wasm);
		postMessage({ready: true});
		return;
	}
	for (const file of data.files || [])
		nodes.set("/in/" + file.name, new Given(file));
	const answer = run(data.args, data.width || 0);
	answer.made = [...nodes.keys()].filter(name => name.startsWith("/out/") && !nodes.get(name).folder)
		.map(name => ({name: name.slice(5), blob: new Blob(nodes.get(name).parts())}));
	for (const name of [...nodes.keys()])
		if (name.startsWith("/out/") || name.startsWith("/tmp/"))
			nodes.delete(name);
	postMessage({id: data.id, answer});
};
