/* In the report as it is shown: what is dropped on it goes to the page around it. */
for (const kind of ["dragover", "dragleave", "drop"])
	addEventListener(kind, e => {
		e.preventDefault();
		parent.postMessage({kind, files: kind === "drop" ? [...e.dataTransfer.files] : []}, "*");
	});
