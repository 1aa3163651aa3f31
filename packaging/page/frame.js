/* Runs in the report that the page shows: it announces dragged files to the page. */
for (const kind of ["dragenter", "dragover", "drop"])
	addEventListener(kind, e => {
		e.preventDefault();
		parent.postMessage({kind, files: kind === "drop" ? [...e.dataTransfer.files] : []}, "*");
	});
