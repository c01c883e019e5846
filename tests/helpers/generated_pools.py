"""What generated histories are made of: few names, words and messages, ordinary and odd, drawn again and again."""

ORDINARY = (
    b"a.c",
    b"src/b.cpp",
    b"src/deep/c.cu",
    b"src/deep/d.h",
    b"docs/readme.md",
    b"tools/run.py",
    b"d",
    b"d/x",
    b"src/deep",
    b"lib/b.cpp",
)
MOVING = (
    b"src/a.c",
    b"src/b.c",
    b"src/c.c",
    b"src/deep/d.c",
    b"src/deep/e.c",
    b"src/new.c",
    b"src/deep/new.h",
    b"lib/f.c",
    b"lib/new.c",
)
"""Folders with more than one file: git guesses that they moved when most of their files did."""

ODD = (
    b"a b.txt",
    b'quo"te',
    b"tab\there",
    b"new\nline",
    b"back\\slash",
    b"caf\xe9",
    "ünïcode/日本.txt".encode(),
    b"-dash",
    b"b/x",
    b"b/b/x",
    b"a/x b/x",
    b" blank ",
    b":(top)*.c",
    b"[a-z]?.c",
    b"A.c",
    b"l" * 200 + b"/" + b"m" * 90,
    b".gitignore",
    b".gitattributes",
)
FOLDERS = (b"lib", b"src", b"src/deep", b"d", b"b", b"docs/src", b"a b")

WORDS = (
    b"speed",
    b"x",
    b"}",
    b"",
    b"int v3 = 3;",
    b"\tindented",
    b"caf\xe9",
    "größer 😀".encode(),
    b"From me to you",
    b"From a@example.org Mon Sep 17 00:00:00 2001",
    b"--- a/x",
    b"+++ b/x",
    b"-- ",
    b"@@ -1 +1 @@",
    b"diff --git a/x b/x",
    b"<<<<<<< HEAD",
    b"=======",
    b"cr\r",
    b"trailing blanks \t ",
    b"z" * 3000,
    b"* binary merge=union text eol=crlf",
    b"*",
)

SUBJECTS = (
    b"Make it fast",
    b"[CUDA] ggml: fuse x",
    b"ggml : a subject of more than a hundred letters that git has to fold because no mail line is so long",
    "Größer: 😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀 ende".encode(),
    b"[PATCH] was in the subject",
    b"[a] [b PATCH 3/4] c",
    b"Re: [RFC] x",
    b"latin-1 caf\xe9",
    b"two lines\nof one subject",
    b"=?UTF-8?q?not_encoded?=",
    b"a  b\tc",
    b"x" * 130,
    b"From: nobody",
    b"diff - in front",
    b"[unclosed",
    b"From the start",
    b"1",
)
BODIES = (
    b"",
    b"Why it is faster.",
    b"From the upstream thread:\nFrom here on, faster.",
    b"From: In Body <body@example.org>\n\nThe author stands in the body.",
    b"Subject: [PATCH] another one\n that is folded\nFrom: In Body <body@example.org>\n\nText.",
    b"Date: Tue, 2 Jan 2024 03:04:05 +0100\n\nText.",
    b">From quoted\n> quoted",
    b" ---\n---- four\n--x\n -- \n",
    b"* a list\n\n\n\n* after three empty lines   \n",
    "Grüße, 日本語, 😀".encode(),
    b"raw caf\xe9",
    b"Key: value\n\nNot: trailers",
    b"diff of two things\nIndexes: many",
    b"y" * 2000,
    b"#hash\n# not a comment\n-- \nsignature?",
    b"\ttab first\n    [PATCH] indented",
    b"[PATCH] first in the body",
)
ENDINGS = (
    b"---\nafter the end of the message",
    b"--- a/file",
    b"diff -u nothing",
    b"Index: nothing",
    b"-- >8 --\nscissors",
    b"--- \t",
)
"""Lines that end a message for git: the trailers behind them are lost, so no valid patch holds one."""

AUTHORS = (
    b"A Person <a@example.org>",
    "Zoë Größe <zoe@example.org>".encode(),
    b"J\xf6rg <j@example.org>",
    b'Dr. "Quote", Jr. <q@example.org>',
    "日本 太郎 <t@example.org>".encode(),
    b"a.b (c) <abc@example.org>",
    b"single <nobody>",
    b"=?UTF-8?q?looks?= encoded <e@example.org>",
    "Ünï Cödé with a very long name that a mail header has to fold somewhere <long@example.org>".encode(),
)
DATES = (b"1700000000 +0000", b"1719878400 -0330", b"86400000 +1400", b"1078012800 +0100", b"4000000000 -1200")
