"""One patch file as text, to be damaged by tests."""

from tests.helpers.histories import message

MAIL = b"""From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001
From: A Person <a@example.org>
Date: Mon, 1 Jan 2024 00:00:00 +0000
Subject: [PATCH] Make one fast

Why it is faster.

%s---
diff --git a/src/f.c b/src/f.c
index 1111111111111111111111111111111111111111..2222222222222222222222222222222222222222 100644
--- a/src/f.c
+++ b/src/f.c
@@ -1 +1 @@
-old caf\xe9
+new caf\xe9
""" % message("one", "b100").partition("faster.\n\n")[2].encode()
