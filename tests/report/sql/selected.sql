-- What the report is of: {{work}}, {{call}} and {{range}} stand for conditions on w, c and r, whose part
-- of the run is p.
DROP TABLE IF EXISTS temp.chosen_work;
DROP TABLE IF EXISTS temp.kernel;
DROP TABLE IF EXISTS temp.copy;
DROP TABLE IF EXISTS temp.chosen_call;
DROP TABLE IF EXISTS temp.chosen_range;
CREATE TEMP TABLE chosen_work AS
SELECT w.* FROM work w JOIN span JOIN part p ON p.sort = 'work' AND p.id = w.id
LEFT JOIN every_kernel k ON k.id = w.id WHERE {work};
CREATE TEMP TABLE kernel AS SELECT * FROM every_kernel WHERE id IN (SELECT id FROM chosen_work);
CREATE TEMP TABLE copy AS
SELECT *, end - start AS dur, sort AS operation FROM chosen_work WHERE sort NOT IN ('kernel', 'graph');
CREATE TEMP TABLE chosen_call AS
SELECT c.*, c.end - c.start AS dur FROM call c JOIN span JOIN part p ON p.sort = 'call' AND p.id = c.id WHERE {call};
CREATE TEMP TABLE chosen_range AS
SELECT r.*, r.end - r.start AS dur FROM range r JOIN span JOIN part p ON p.sort = 'range' AND p.id = r.id WHERE {range};
