# what is no trace says what is read; a report of another profiler says how to make one
echo '{"a": 1}' >x.json
echo 'a,b' >x.csv
head -c 100 /dev/zero >x.nsys-rep
for file in x.json x.csv x.nsys-rep; do
	warpsheet report $file
	echo "exit status $?"
done
