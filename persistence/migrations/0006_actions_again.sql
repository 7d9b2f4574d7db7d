-- What was done with a card's button may be undone in the plan and done again: only what is under way stands in the way.

drop index actions_once;
create unique index actions_once on actions (session_id, what) where state = 'intended';
