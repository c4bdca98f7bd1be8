#!/bin/sh
# A scripted agent: it answers by words of its task, which it gets on its input
# or as its argument, and notes the task in prompt.txt.
if [ $# -gt 0 ]; then task=$1; else task=$(cat); fi
case $task in
*Analyze*)
	printf %s "$task" >prompt.txt
	case $task in *slowly*) sleep 0.2 ;; esac
	echo "$AGENT_NAME: Analysis complete. Found $(wc -l <TODO.txt | tr -d ' ') areas in TODO.txt"
	;;
fail)
	echo "Error: API rate limit exceeded" >&2
	exit 1
	;;
hang)
	echo hanging
	sleep 1000
	;;
"probe "*)
	if [ -z "$(cat)" ]; then echo "input: empty"; fi
	echo "secret: ${SECRET_OF_THE_HOST:-none}"
	if (echo x >"${task#probe }") 2>/dev/null; then echo "outside: open"; else echo "outside: closed"; fi
	;;
esac
