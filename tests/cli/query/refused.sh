# what is no question: each says what is wrong, and nothing is read or written
trace=fixtures/recorded/h100/resnet50.wtrace
for query in 'DELETE FROM cell' 'PRAGMA user_version = 1' "ATTACH 'x' AS x" 'CREATE TABLE t (x)' \
	"SELECT load_extension('x')" REINDEX 'SELECT nothing FROM cell' '' '-- nothing' 'SELECT median_of(5)' \
	'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c'; do
	warpsheet query "$trace" "$query" 2>&1
	echo "status $?"
done | sed 's/no such function: load_ext/not authorized to use function: load_ext/' # which not every SQLite has
warpsheet query "$trace" 'SELECT 1; SELECT 2' --format csv
echo "status $?"
warpsheet query "$trace" 'SELECT 1' --sql x.sql
echo "status $?"
warpsheet report "$trace" --table gpu --sql x.sql
echo "status $?"
ls
