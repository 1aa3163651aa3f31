# cmake -DIN=file -DOUT=file -P embed_text.cmake
# Write the bytes of IN as a C initialiser list.
file(READ "${IN}" hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)"
	"\\1\n" bytes "${bytes}")
file(WRITE "${OUT}" "${bytes}\n")
