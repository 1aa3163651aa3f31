-- only where phases are ranges
SELECT s.number AS step, f.host_ns AS forward_ns, l.host_ns AS loss_ns, b.host_ns AS backward_ns, o.host_ns AS optimizer_ns,
       iif(yes, r.host_ns, NULL) AS remainder_ns, w.end - w.start AS total_ns,
       iif(f.host_ns NOTNULL OR f.gpu_ns, coalesce(f.gpu_ns, 0), NULL) AS gpu_forward_ns,
       iif(l.host_ns NOTNULL OR l.gpu_ns, coalesce(l.gpu_ns, 0), NULL) AS gpu_loss_ns,
       iif(b.host_ns NOTNULL OR b.gpu_ns, coalesce(b.gpu_ns, 0), NULL) AS gpu_backward_ns,
       iif(o.host_ns NOTNULL OR o.gpu_ns, coalesce(o.gpu_ns, 0), NULL) AS gpu_optimizer_ns,
       iif(yes OR (r.gpu_ns AND coalesce(f.gpu_ns, l.gpu_ns, b.gpu_ns, o.gpu_ns)), r.gpu_ns, NULL) AS gpu_remainder_ns,
       (SELECT ns FROM phase_window p WHERE p.step = s.id AND p.place = 0) AS window_forward_ns,
       (SELECT ns FROM phase_window p WHERE p.step = s.id AND p.place = 1) AS window_loss_ns,
       (SELECT ns FROM phase_window p WHERE p.step = s.id AND p.place = 2) AS window_backward_ns,
       (SELECT ns FROM phase_window p WHERE p.step = s.id AND p.place = 3) AS window_optimizer_ns,
       (SELECT ns FROM phase_window p WHERE p.step = s.id AND p.place = 4) AS window_remainder_ns
FROM has_phases, step s LEFT JOIN window w ON w.step = s.id
JOIN phase_of_step f ON f.step = s.id AND f.place = 0 JOIN phase_of_step l ON l.step = s.id AND l.place = 1
JOIN phase_of_step b ON b.step = s.id AND b.place = 2 JOIN phase_of_step o ON o.step = s.id AND o.place = 3
JOIN phase_of_step r ON r.step = s.id AND r.place = 4
WHERE NOT is_open ORDER BY s.start, s.id;
