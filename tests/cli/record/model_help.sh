# what a model takes, and nothing that it does not: no image size for a transformer
warpsheet record --model transformer-tiny --help >help.txt
for option in context layers image-size kernel-width dtype batch; do
	sed '1,/options of this model/d' help.txt | grep -q -- "--$option" && echo "transformer-tiny takes --$option"
done
warpsheet record --model=lenet5 --help | sed '1,/options of this model/d' | grep -c -- '--context'
