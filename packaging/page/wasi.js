"use strict";
/* The system that warpsheet.wasm runs on (WASI preview 1), in a page's worker and in Node. `host` has the files:
 *   open(path, {create, exclusive, truncate, write}) -> {size(), read(at, bytes) -> n, write(at, bytes), truncate(n), close()}
 *   stat(path) -> {type: "file" | "folder" | "other", size, number}, list(path), makeFolder(path), remove(path, isFolder), rename(a, b)
 * Each throws an Error with a code of C: ENOENT and so on. out(fd, bytes) takes what is printed, input(bytes) -> n gives
 * standard input; without it there is none. */
const ERRNO = {EACCES: 2, EBADF: 8, EEXIST: 20, EINVAL: 28, EIO: 29, EISDIR: 31, ENOENT: 44, ENOSPC: 51, ENOSYS: 52, ENOTDIR: 54,
	ENOTEMPTY: 55, ENOTSUP: 58, EPERM: 63, EPIPE: 64, ESPIPE: 70, EXDEV: 75};
const FILE_TYPE = {folder: 3, file: 4, other: 2};

class Exit extends Error {
	constructor(code) {
		super("exit " + code);
		this.code = code;
	}
}

function failure(code, path) {
	return Object.assign(new Error(code + ": " + path), {code});
}

/* Returns the exit code of warpsheet with these arguments. */
function runWarpsheet(module, {args, variables, host, out, input, isTerminal}) {
	const encoder = new TextEncoder(), decoder = new TextDecoder();
	const files = [{input: true}, {output: 1}, {output: 2}, {path: "/", folder: true}];
	let memory;
	const view = () => new DataView(memory.buffer);
	const bytesAt = (at, n) => new Uint8Array(memory.buffer, at, n);
	const textAt = (at, n) => decoder.decode(bytesAt(at, n).slice());
	const entry = fd => {
		if (!files[fd])
			throw failure("EBADF", fd);
		return files[fd];
	};
	const pathAt = (fd, at, n) => {
		const parts = [];
		for (const part of (entry(fd).path + "/" + textAt(at, n)).split("/"))
			if (part === "..")
				parts.pop();
			else if (part && part !== ".")
				parts.push(part);
		return "/" + parts.join("/");
	};
	const add = file => {
		let fd = 3;
		while (files[fd])
			fd++;
		files[fd] = file;
		return fd;
	};
	const put64 = (at, value) => view().setBigUint64(at, BigInt(value), true);
	const put32 = (at, value) => view().setUint32(at, value, true);
	const putStat = (at, type, size, number) => {
		bytesAt(at, 64).fill(0);
		put64(at, 1);
		put64(at + 8, number);
		bytesAt(at + 16, 1)[0] = type;
		put64(at + 24, 1);
		put64(at + 32, size);
	};
	const list = (array, counts, sizes) => {
		const all = array.map(text => encoder.encode(text + "\0"));
		put32(counts, all.length);
		put32(sizes, all.reduce((sum, one) => sum + one.length, 0));
	};
	const fill = (array, pointers, at) => {
		for (const text of array) {
			const bytes = encoder.encode(text + "\0");
			put32(pointers, at);
			bytesAt(at, bytes.length).set(bytes);
			pointers += 4;
			at += bytes.length;
		}
	};
	/* each(bytes) of a list of stretches of memory, until one is not whole; returns the bytes in all */
	const stretches = (at, n, each) => {
		let sum = 0;
		for (let i = 0; i < n; i++) {
			const length = view().getUint32(at + 8 * i + 4, true);
			const done = length ? each(bytesAt(view().getUint32(at + 8 * i, true), length)) : 0;
			sum += done;
			if (done < length)
				break;
		}
		return sum;
	};
	const read = (file, at, n, position) => stretches(at, n, bytes => {
		const got = file.data.read(position, bytes);
		position += got;
		return got;
	});
	const write = (file, at, n, position) => stretches(at, n, bytes => {
		file.data.write(position, bytes);
		position += bytes.length;
		return bytes.length;
	});
	/* file.place is shared by copies of a descriptor */
	const calls = {
		args_sizes_get: (counts, sizes) => list(args, counts, sizes),
		args_get: (pointers, at) => fill(args, pointers, at),
		environ_sizes_get: (counts, sizes) => list(variables, counts, sizes),
		environ_get: (pointers, at) => fill(variables, pointers, at),
		clock_res_get: (id, at) => put64(at, 1000),
		clock_time_get: (id, precision, at) => put64(at, id === 0 ? BigInt(Date.now()) * 1000000n
			: BigInt(Math.round(performance.now() * 1000)) * 1000n),
		random_get: (at, n) => { crypto.getRandomValues(bytesAt(at, n)); },
		sched_yield: () => {},
		poll_oneoff: (from, to, n, at) => put32(at, 0),
		proc_exit: code => { throw new Exit(code); },
		fd_prestat_get: (fd, at) => {
			if (fd !== 3)
				throw failure("EBADF", fd);
			put32(at, 0);
			put32(at + 4, 1);
		},
		fd_prestat_dir_name: (fd, at) => { bytesAt(at, 1)[0] = 47; },
		fd_advise: () => {},
		fd_sync: () => {},
		fd_datasync: () => {},
		fd_close: fd => {
			const file = entry(fd);
			delete files[fd];
			if (file.data && !--file.place.users)
				file.data.close();
		},
		fd_renumber: (from, to) => {
			files[to] = entry(from);
			delete files[from];
		},
		fd_fdstat_get: (fd, at) => {
			const file = entry(fd);
			bytesAt(at, 24).fill(0);
			bytesAt(at, 1)[0] = file.folder ? FILE_TYPE.folder : file.data ? FILE_TYPE.file
				: isTerminal && isTerminal(fd) ? FILE_TYPE.other : 0;
			view().setUint16(at + 2, file.appends ? 1 : 0, true);
			/* no right to seek or tell makes isatty() true */
			const rights = file.data || file.folder ? 0x1fffffffn : 0x1fffffffn & ~0x24n;
			put64(at + 8, rights);
			put64(at + 16, 0x1fffffffn);
		},
		fd_fdstat_set_flags: (fd, flags) => { entry(fd).appends = !!(flags & 1); },
		fd_filestat_get: (fd, at) => {
			const file = entry(fd);
			if (file.folder)
				putStat(at, FILE_TYPE.folder, 0, host.stat(file.path).number);
			else if (file.data)
				putStat(at, FILE_TYPE.file, file.data.size(), file.data.number);
			else
				putStat(at, isTerminal && isTerminal(fd) ? FILE_TYPE.other : 6, 0, 0);
		},
		fd_filestat_set_size: (fd, size) => entry(fd).data.truncate(Number(size)),
		fd_read: (fd, at, n, got) => {
			const file = entry(fd);
			if (file.folder)
				throw failure("EISDIR", file.path);
			const sum = file.data ? read(file, at, n, file.place.at) : file.input && input ? stretches(at, n, input) : 0;
			if (file.data)
				file.place.at += sum;
			put32(got, sum);
		},
		fd_pread: (fd, at, n, position, got) => put32(got, read(entry(fd), at, n, Number(position))),
		fd_write: (fd, at, n, done) => {
			const file = entry(fd);
			let sum;
			if (file.output) {
				sum = stretches(at, n, bytes => {
					out(file.output, bytes);
					return bytes.length;
				});
			} else {
				if (!file.data)
					throw failure("EBADF", fd);
				if (file.appends)
					file.place.at = file.data.size();
				sum = write(file, at, n, file.place.at);
				file.place.at += sum;
			}
			put32(done, sum);
		},
		fd_pwrite: (fd, at, n, position, done) => put32(done, write(entry(fd), at, n, Number(position))),
		fd_seek: (fd, offset, whence, at) => {
			const file = entry(fd);
			if (!file.data)
				throw failure("ESPIPE", fd);
			file.place.at = Number(offset) + (whence === 0 ? 0 : whence === 1 ? file.place.at : file.data.size());
			put64(at, file.place.at);
		},
		fd_tell: (fd, at) => put64(at, entry(fd).place.at),
		fd_readdir: (fd, at, size, cookie, used) => {
			const names = host.list(entry(fd).path);
			let n = 0;
			for (let i = Number(cookie); i < names.length && n < size; i++) {
				const name = encoder.encode(names[i]), record = new Uint8Array(24 + name.length);
				const fields = new DataView(record.buffer);
				fields.setBigUint64(0, BigInt(i + 1), true);
				fields.setUint32(16, name.length, true);
				record.set(name, 24);
				const part = record.subarray(0, size - n);
				bytesAt(at + n, part.length).set(part);
				n += part.length;
			}
			put32(used, n);
		},
		path_filestat_get: (fd, flags, at, n, to) => {
			const found = host.stat(pathAt(fd, at, n));
			putStat(to, FILE_TYPE[found.type], found.size, found.number);
		},
		path_open: (fd, lookup, at, n, oflags, rights, inheriting, fdflags, to) => {
			const path = pathAt(fd, at, n), isFolder = !!(oflags & 2);
			let found = null;
			try {
				found = host.stat(path);
			} catch (e) {
				if (isFolder || !(oflags & 1))
					throw e;
			}
			if (found && found.type === "folder") {
				if (rights & 0x40n && !isFolder)
					throw failure("EISDIR", path);
				put32(to, add({path, folder: true}));
				return;
			}
			if (isFolder)
				throw failure("ENOTDIR", path);
			const data = host.open(path, {create: !!(oflags & 1), exclusive: !!(oflags & 4), truncate: !!(oflags & 8),
				write: !!(rights & 0x40n)});
			put32(to, add({path, data, place: {at: 0, users: 1}, appends: !!(fdflags & 1)}));
		},
		path_create_directory: (fd, at, n) => host.makeFolder(pathAt(fd, at, n)),
		path_remove_directory: (fd, at, n) => host.remove(pathAt(fd, at, n), true),
		path_unlink_file: (fd, at, n) => host.remove(pathAt(fd, at, n), false),
		path_rename: (fd, at, n, toFd, toAt, toN) => host.rename(pathAt(fd, at, n), pathAt(toFd, toAt, toN)),
		path_readlink: () => { throw failure("EINVAL", "a link"); },
	};
	const guarded = {};
	for (const {module: from, name} of WebAssembly.Module.imports(module))
		if (from === "wasi_snapshot_preview1")
			guarded[name] = (...given) => {
				try {
					if (!calls[name])
						return ERRNO.ENOSYS;
					calls[name](...given);
					return 0;
				} catch (e) {
					if (e instanceof Exit || !e.code)
						throw e;
					return ERRNO[e.code] || ERRNO.EIO;
				}
			};
	const dup = fd => {
		if (!files[fd])
			return -1;
		if (files[fd].data)
			files[fd].place.users++;
		return add(files[fd]);
	};
	const instance = new WebAssembly.Instance(module, {wasi_snapshot_preview1: guarded, warpsheet: {dup}});
	memory = instance.exports.memory;
	try {
		instance.exports._start();
		return 0;
	} catch (e) {
		if (e instanceof Exit)
			return e.code;
		throw e;
	}
}

if (typeof module !== "undefined")
	module.exports = {runWarpsheet, failure};
