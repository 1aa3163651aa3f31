/* Secrets in arguments, by their shapes. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "recorder/launch/launch.h"

#define MOST 4

/* Arguments of a program, and what is kept of them: NULL: all of it. */
struct example {
	const char *program, *given[MOST], *kept[MOST];
};

static void check(const struct example *e)
{
	struct ws_secrets s = {.program = e->program};
	unsigned masked = 0;

	for (int i = 0; i < MOST && e->given[i]; i++) {
		char *kept = ws_secrets_mask(&s, e->given[i]);

		cr_expect_str_eq(kept, e->kept[i] ? e->kept[i] : e->given[i], "of %s", e->given[i]);
		masked += e->kept[i] != NULL;
		free(kept);
	}
	cr_expect_eq(s.masked, masked, "%s: %u", e->given[0], s.masked);
}

#define CHECK_ALL(list)                                             \
	for (size_t i = 0; i < sizeof(list) / sizeof(*(list)); i++) \
	check(&(list)[i])

Test(secrets, what_a_name_calls_a_secret)
{
	static const struct example list[] = {
	        {.given = {"--password=hunter2"}, .kept = {"--password=***"}},
	        {.given = {"--api-key", "hunter2"}, .kept = {NULL, "***"}},
	        {.given = {"--pwd", "hunter2", "--lr", "0.1"}, .kept = {NULL, "***"}},
	        {.given = {"--auth", "hunter2"}, .kept = {NULL, "***"}},
	        {.given = {"--cookie", "hunter2"}, .kept = {NULL, "***"}},
	        {.given = {"--pass", "hunter2"}, .kept = {NULL, "***"}},
	        {.given = {"--accessToken", "hunter2"}, .kept = {NULL, "***"}},
	        {.given = {"HF_TOKEN=hunter2"}, .kept = {"HF_TOKEN=***"}},
	        {.given = {"wandb.api_key=hunter2,x"}, .kept = {"wandb.api_key=***"}},
	        {.given = {"--env=WANDB_API_KEY=hunter2"}, .kept = {"--env=WANDB_API_KEY=***"}},
	        {.given = {"--token", "--next", "value"}},
	        {.given = {"--max-tokens=8", "--num-key-heads=4", "--tokenizer", "bert"}},
	        {.given = {"--forward-pass", "3", "--passes=2", "keyboard=de"}},
	        {.given = {"", "=", ":", "--"}},
	};

	CHECK_ALL(list);
}

Test(secrets, headers)
{
	static const struct example list[] = {
	        {.given = {"-H", "Authorization: Bearer hunter2"},
	         .kept = {NULL, "Authorization: ***"}},
	        {.given = {"-H", "Cookie: a=hunter2; b=c"}, .kept = {NULL, "Cookie: ***"}},
	        {.given = {"-H", "X-Api-Key: hunter2"}, .kept = {NULL, "X-Api-Key: ***"}},
	        {.given = {"--header=Proxy-Authorization: Basic aHVudGVyMg=="},
	         .kept = {"--header=Proxy-Authorization: ***"}},
	        {.given = {"curl -H 'Authorization: Bearer hunter2' https://a/b"},
	         .kept = {"curl -H 'Authorization: ***' https://a/b"}},
	        {.given = {"the Bearer hunter2hunter2 of it"}, .kept = {"the Bearer *** of it"}},
	        {.given = {"-H", "Content-Type: text/plain", "Bearer", "of news"}},
	};

	CHECK_ALL(list);
}

Test(secrets, urls)
{
	static const struct example list[] = {
	        {.given = {"https://user:hunter2@host/x?y=1"},
	         .kept = {"https://user:***@host/x?y=1"}},
	        {.given = {"--db=postgresql://u:hun@ter2@host:5432/db"},
	         .kept = {"--db=postgresql://u:***@host:5432/db"}},
	        {.given = {"https://h/x?token=hunter2&n=1"}, .kept = {"https://h/x?token=***&n=1"}},
	        {.given = {"https://h/x?X-Amz-Signature=hunter2"},
	         .kept = {"https://h/x?X-Amz-Signature=***"}},
	        {.given = {"https://hooks.slack.com/services/T0000/B0000/hunter2"},
	         .kept = {"https://hooks.slack.com/services/***"}},
	        {.given = {"https://host:8080/a@b", "ssh://git@host/x", "tcp://10.0.0.1:29500"}},
	};

	CHECK_ALL(list);
}

Test(secrets, json_and_text_inside_an_argument)
{
	static const struct example list[] = {
	        {.given = {"{\"token\":\"hunter2\",\"lr\":0.1}"},
	         .kept = {"{\"token\":\"***\",\"lr\":0.1}"}},
	        {.given = {"{\\\"token\\\": \\\"hunter2\\\"}"},
	         .kept = {"{\\\"token\\\": \\\"***\\\"}"}},
	        {.given = {"{'password': 'hunter2', 'n': 1}"},
	         .kept = {"{'password': '***', 'n': 1}"}},
	        {.given = {"{token: hunter2, lr: 0.1}"}, .kept = {"{token: ***, lr: 0.1}"}},
	        {.given = {"host=a password=hunter2 dbname=b"},
	         .kept = {"host=a password=*** dbname=b"}},
	        {.given = {"-c", "KEY=hunter2 python train.py --token hunter2 --lr 1"},
	         .kept = {NULL, "KEY=*** python train.py --token *** --lr 1"}},
	        {.given = {"-c", "python train.py --token $TOKEN --key=${KEY}"}},
	        {.given = {"-v", "/etc/key:/etc/key:ro", "sort by key: no", "a key b"},
	         .kept = {NULL, NULL, "sort by key: ***"}},
	        {.given = {"-----BEGIN RSA PRIVATE KEY-----\nhunter2"},
	         .kept = {"-----BEGIN RSA PRIVATE KEY-----***"}},
	};

	CHECK_ALL(list);
}

Test(secrets, tokens_that_begin_with_what_they_are)
{
	static const struct example list[] = {
	        {.given = {"sk-abcdefghijklmnop1234"}, .kept = {"sk-***"}},
	        {.given = {"sk-proj-abcd_efgh-ijklmnop1234"}, .kept = {"sk-proj-***"}},
	        {.given = {"use ghp_abcdefghijklmnop1234, please"},
	         .kept = {"use ghp_***, please"}},
	        {.given = {"x=github_pat_11ABCDEFG0123456789_abc"}, .kept = {"x=github_pat_***"}},
	        {.given = {"AKIAIOSFODNN7EXAMPLE"}, .kept = {"AKIA***"}},
	        {.given = {"--hub", "hf_AbCdEfGhIjKlMnOpQrStUv"}, .kept = {NULL, "hf_***"}},
	        {.given = {"https://ghp_abcdefghijklmnop1234@github.com/a"},
	         .kept = {"https://ghp_***@github.com/a"}},
	        {.given = {"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc-def_ghi"},
	         .kept = {"eyJ***"}},
	        {.given = {"sk-learn", "risk-abcdefghijklmnop1234", "hf_model", "AKIA"}},
	        {.given = {"eyJhIjoxLCJiIjoyLCJjIjozLCJkIjo0LCJlIjo1LCJmIjo2fQ"}},
	};

	CHECK_ALL(list);
}

Test(secrets, options_of_single_clients)
{
	static const struct example list[] = {
	        {"/usr/bin/curl", {"-u", "me:hunter2"}, {NULL, "me:***"}},
	        {"sshpass", {"-p", "hunter2", "ssh"}, {NULL, "***"}},
	        {"sshpass", {"-phunter2", "ssh"}, {"-p***"}},
	        {"mysql", {"-phunter2", "-p", "database"}, {"-p***"}},
	        {"redis-cli", {"-a", "hunter2"}, {NULL, "***"}},
	        {"python", {"-u", "train.py:main", "-p", "8080"}, {NULL}},
	};

	CHECK_ALL(list);
}
