"use strict";
/* Runs warpsheet once, on files that the page was given. They are in /in, what is made in /out; nothing leaves this machine.
 * A worker lives as long as its command, so that all of its memory goes with it. */
const BLOCK = 1 << 20, MOST_HELD = 64;
const nodes = new Map([["/", {folder: true, number: 1}], ["/in", {folder: true, number: 2}], ["/out", {folder: true, number: 3}],
	["/tmp", {folder: true, number: 4}]]);
const folderOf = path => path.slice(0, path.lastIndexOf("/")) || "/";
const bytesOf = blob => new Uint8Array(new FileReaderSync().readAsArrayBuffer(blob));
let numbers = 4;

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
				this.blocks.set(n, bytesOf(this.file.slice(n * BLOCK, (n + 1) * BLOCK)));
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

/* A file that is made. All but its last blocks are blobs, which the browser keeps on its disk when they are many. */
class Made {
	constructor() {
		this.blocks = [];
		this.held = []; /* the numbers of those in memory */
		this.length = 0;
		this.number = ++numbers;
	}
	hold(n, block) {
		this.blocks[n] = block;
		this.held.push(n);
		if (this.held.length > MOST_HELD) {
			const oldest = this.held.shift();
			this.blocks[oldest] = this.blocks[oldest] && new Blob([this.blocks[oldest]]);
		}
		return block;
	}
	block(n) {
		const block = this.blocks[n];
		return block instanceof Blob ? this.hold(n, bytesOf(block)) : block;
	}
	size() { return this.length; }
	read(at, bytes) {
		const n = Math.max(0, Math.min(bytes.length, this.length - at));
		for (let done = 0; done < n;) {
			const from = (at + done) % BLOCK, take = Math.min(n - done, BLOCK - from), block = this.block(Math.floor((at + done) / BLOCK));
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
			(this.block(n) || this.hold(n, new Uint8Array(BLOCK))).set(bytes.subarray(done, done + take), from);
			done += take;
		}
		this.length = Math.max(this.length, at + bytes.length);
	}
	truncate(n) {
		if (n < this.length) {
			this.blocks.length = Math.ceil(n / BLOCK);
			this.held = this.held.filter(one => one < this.blocks.length);
			if (n % BLOCK && this.block(this.blocks.length - 1))
				this.block(this.blocks.length - 1).fill(0, n % BLOCK);
		}
		this.length = n;
	}
	close() {}
	blob() {
		const parts = [];
		for (let at = 0; at < this.length; at += BLOCK) {
			const block = this.blocks[at / BLOCK] || new Uint8Array(BLOCK), n = Math.min(BLOCK, this.length - at);
			parts.push(block instanceof Blob ? block.slice(0, n) : block.subarray(0, n));
		}
		return new Blob(parts);
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
			find(folderOf(path));
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
function run(module, args) {
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
		code = runWarpsheet(module, {args: ["warpsheet", ...args], variables: ["PWD=/in", "TMPDIR=/tmp"], host, out,
			isTerminal: fd => fd === 2});
	} catch (e) {
		const isMemory = /memory/i.test(e.message) || e instanceof RangeError && !/call stack/i.test(e.message);
		code = isMemory ? 5 : 70;
		printed[2].push(new TextEncoder().encode(isMemory ? "out of memory" : String(e)));
	}
	/* the line of progress is no message */
	return {code, out: text(1), err: text(2).replace(/[^\n]*\r|\x1b\[K/g, "").trim()};
}

/* files: [name below /in, File] */
onmessage = ({data: {module, args, files}}) => {
	for (const [name, file] of files) {
		const path = "/in/" + name;
		if (!nodes.has(folderOf(path)))
			host.makeFolder(folderOf(path));
		nodes.set(path, new Given(file));
	}
	const answer = run(module, args);
	answer.made = [...nodes.keys()].filter(path => path.startsWith("/out/") && !nodes.get(path).folder)
		.map(path => ({name: path.slice(5), blob: nodes.get(path).blob()}));
	postMessage({answer});
};
