# CPack lets a package call ldconfig for each library one folder below /usr/lib. Ours lie there to be
# injected or opened by path, so the calls go: packages are packed again without them.
foreach(package ${CPACK_PACKAGE_FILES})
	set(root ${package}.root)
	execute_process(COMMAND dpkg-deb -R ${package} ${root} COMMAND_ERROR_IS_FATAL ANY)
	file(REMOVE ${root}/DEBIAN/postinst ${root}/DEBIAN/postrm)
	execute_process(COMMAND dpkg-deb --root-owner-group -b ${root} ${package} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
	file(REMOVE_RECURSE ${root})
endforeach()
