#!/usr/bin/env node
"use strict";
/* npx warpsheet: the report program as WebAssembly, on the files of this machine. */
const fs = require("fs"), path = require("path"), os = require("os");
const {runWarpsheet} = require("./wasi.js");

/* "/C:/a" of a path that begins with a drive is that path. */
const native = name => process.platform === "win32" ? name.replace(/^.*\/(?=[A-Za-z]:)/, "") : name;
const typeOf = stat => stat.isFile() ? "file" : stat.isDirectory() ? "folder" : "other";

const host = {
	open(name, {create, exclusive, truncate, write}) {
		const flags = (write ? fs.constants.O_RDWR : fs.constants.O_RDONLY) | (create ? fs.constants.O_CREAT : 0)
			| (exclusive ? fs.constants.O_EXCL : 0) | (truncate ? fs.constants.O_TRUNC : 0) | (fs.constants.O_NONBLOCK || 0);
		const fd = fs.openSync(native(name), flags, 0o666);
		return {
			number: fs.fstatSync(fd).ino,
			size: () => fs.fstatSync(fd).size,
			read: (at, bytes) => fs.readSync(fd, bytes, 0, bytes.length, at),
			write: (at, bytes) => {
				for (let done = 0; done < bytes.length;)
					done += fs.writeSync(fd, bytes, done, bytes.length - done, at + done);
			},
			truncate: n => fs.ftruncateSync(fd, n),
			close: () => fs.closeSync(fd),
		};
	},
	stat(name) {
		const stat = fs.statSync(native(name));
		return {type: typeOf(stat), size: stat.size, number: stat.ino};
	},
	list: name => fs.readdirSync(native(name)),
	makeFolder: name => fs.mkdirSync(native(name)),
	remove: (name, isFolder) => isFolder ? fs.rmdirSync(native(name)) : fs.unlinkSync(native(name)),
	rename: (a, b) => fs.renameSync(native(a), native(b)),
};

function out(fd, bytes) {
	for (let done = 0; done < bytes.length;)
		try {
			done += fs.writeSync(fd, bytes, done);
		} catch (e) {
			if (e.code === "EPIPE") /* as the signal would end it */
				process.exit(141);
			if (e.code !== "EAGAIN")
				throw e;
		}
}

function input(bytes) {
	for (;;)
		try {
			return fs.readSync(0, bytes, 0, bytes.length, null);
		} catch (e) {
			if (e.code === "EOF")
				return 0;
			if (e.code !== "EAGAIN")
				throw e;
		}
}

const variables = Object.entries({TMPDIR: os.tmpdir(), COLUMNS: process.stdout.columns, ...process.env, PWD: process.cwd()})
	.filter(([, value]) => value !== undefined).map(([name, value]) => name + "=" + value);
const module_ = new WebAssembly.Module(fs.readFileSync(path.join(__dirname, "warpsheet.wasm")));
const streams = [process.stdin, process.stdout, process.stderr];

process.exitCode = runWarpsheet(module_, {args: ["warpsheet", ...process.argv.slice(2)], variables, host, out, input,
	isTerminal: fd => !!streams[fd].isTTY});
