# cmake -DIN=file,file,… -DOUT=name -P embed_text.cmake
# Write the bytes of the files, one after another, as a C initialiser list to OUT.inc, and their
# SHA-256 to OUT.hash.inc.
string(REPLACE "," ";" files "${IN}")
set(hex "")
set(text "")
foreach(file ${files})
	file(READ "${file}" part HEX)
	string(APPEND hex "${part}")
	file(READ "${file}" part)
	string(APPEND text "${part}")
endforeach()
string(SHA256 hash "${text}")
function(write_bytes hex name)
	string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
	string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)"
		"\\1\n" bytes "${bytes}")
	file(WRITE "${OUT}.${name}" "${bytes}\n")
endfunction()
write_bytes("${hex}" inc)
write_bytes("${hash}" hash.inc)
