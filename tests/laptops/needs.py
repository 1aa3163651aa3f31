"""What a program for macOS or Windows needs of its system: needs.py FILE MACHINE. Fails unless it is for this machine and needs
nothing but what every macOS 11 (libSystem) or Windows 10 has; one for Apple's processors must be signed, or it is not run."""
import struct
import sys

MACHO = {0x01000007: "x86_64", 0x0100000C: "arm64"}
PE = {0x8664: "amd64", 0xAA64: "arm64"}
# https://learn.microsoft.com/windows/win32/apiindex/windows-apisets; the others are in System32
DLLS = ("api-ms-win-crt-", "kernel32.dll", "advapi32.dll", "bcrypt.dll", "ntdll.dll", "user32.dll", "shell32.dll", "ole32.dll")


def text_at(data, at):
    return data[at:data.index(b"\0", at)].decode()


def macho(data):
    """(machine, libraries, oldest system, signed)"""
    magic, cpu, _, _, ncommands = struct.unpack_from("<IIIII", data)
    assert magic == 0xFEEDFACF, "no 64-bit program of macOS"
    at, libraries, oldest, signed = 32, [], None, False
    for _ in range(ncommands):
        command, size = struct.unpack_from("<II", data, at)
        if command & 0x7FFFFFFF in (0x0C, 0x18, 0x1F):  # a library: plain, weak, exported again
            libraries.append(text_at(data, at + struct.unpack_from("<I", data, at + 8)[0]))
        elif command == 0x32:  # LC_BUILD_VERSION
            oldest = struct.unpack_from("<I", data, at + 12)[0] >> 16
        elif command == 0x24:  # LC_VERSION_MIN_MACOSX
            oldest = struct.unpack_from("<I", data, at + 8)[0] >> 16
        elif command == 0x1D:
            signed = True
        at += size
    return MACHO[cpu], libraries, oldest, signed


def pe(data):
    """(machine, libraries)"""
    head = struct.unpack_from("<I", data, 0x3C)[0]
    assert data[head:head + 4] == b"PE\0\0", "no program of Windows"
    machine, nsections = struct.unpack_from("<HH", data, head + 4)
    optional = head + 24
    sections = optional + struct.unpack_from("<H", data, head + 20)[0]

    def place(address):
        for i in range(nsections):
            size, begin, _, raw = struct.unpack_from("<IIII", data, sections + 40 * i + 8)
            if begin <= address < begin + size:
                return raw + address - begin
        raise ValueError(hex(address))

    libraries, at = [], place(struct.unpack_from("<I", data, optional + 120)[0])
    while name := struct.unpack_from("<I", data, at + 12)[0]:
        libraries.append(text_at(data, place(name)).lower())
        at += 20
    return PE[machine], libraries


def main(path, machine):
    with open(path, "rb") as f:
        data = f.read()
    if data[:2] == b"MZ":
        found, libraries = pe(data)
        others = [name for name in libraries if not name.startswith(DLLS)]
        words = f"Windows, {found}"
    else:
        found, libraries, oldest, signed = macho(data)
        others = [name for name in libraries if name != "/usr/lib/libSystem.B.dylib"]
        words = f"macOS {oldest}, {found}{', signed ad hoc' if signed else ''}"
        assert oldest == 11, f"needs macOS {oldest}"
        assert signed or found != "arm64", "not signed"
    assert found == machine, f"is for {found}"
    assert libraries and not others, f"needs {others}"
    print(f"{path}: {words}; needs {' '.join(sorted(libraries))}")


main(*sys.argv[1:])
