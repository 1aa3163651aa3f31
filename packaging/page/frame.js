/* In the report as it is shown: files over it are for the page around it. */
for (const kind of ["dragenter", "dragover", "drop"])
	addEventListener(kind, e => {
		e.preventDefault();
		parent.postMessage({kind, files: kind === "drop" ? [...e.dataTransfer.files] : []}, "*");
	});
