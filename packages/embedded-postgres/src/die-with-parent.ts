/**
 * Makes child processes end with this one, however it ends: `kill -9` included, on every Unix.
 *
 * One `sh` per process reads our orders from a pipe that only we hold. When we die, the kernel closes the pipe, and the shell
 * carries out the orders: it signals the named processes and removes the named folders. It sits in its own session, so that
 * Ctrl-C in a terminal, which reaches a whole process group, does not reach it.
 */

import { spawn, type ChildProcess } from 'node:child_process'

const WATCHER = `
kills= removals=
without() { shift_out=; for item in $1; do [ "$item" = "$2" ] || shift_out="$shift_out $item"; done; }
while read -r order argument; do
  case $order in
    kill) kills="$kills $argument" ;;
    spare) without "$kills" "$argument"; kills=$shift_out ;;
    remove) removals="$removals $argument" ;;
    keep) without "$removals" "$argument"; removals=$shift_out ;;
  esac
done
for item in $kills; do kill -s "\${item%%:*}" "\${item##*:}" 2>/dev/null; done
[ -z "$removals" ] && exit
[ -z "$kills" ] || sleep 1
for item in $removals; do rm -rf -- "$item"; done
`

let watcher: ChildProcess | undefined

/** Sends `signal` to the child when this process ends before it. */
export function dieWithParent(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): void {
  if (child.pid === undefined) return
  const target = `${signal.slice('SIG'.length)}:${child.pid}`
  order(`kill ${target}`)
  child.once('exit', () => order(`spare ${target}`))
}

/** Removes a temporary folder when this process ends before it was removed. The returned function cancels that. */
export function removeWithParent(folder: string): () => void {
  // Paths that the shell would take apart stay: the system empties its temporary folders some day.
  if (!/^\/[^\s*?[\]]+$/.test(folder)) return () => {}
  order(`remove ${folder}`)
  return () => order(`keep ${folder}`)
}

function order(line: string): void {
  watcher ??= startWatcher()
  watcher.stdin!.write(`${line}\n`)
}

function startWatcher(): ChildProcess {
  const child = spawn('/bin/sh', ['-c', WATCHER], { stdio: ['pipe', 'ignore', 'ignore'], detached: true, cwd: '/' })
  child.on('error', () => {})
  child.stdin.on('error', () => {})
  // Neither the shell nor the pipe to it may keep this process from ending.
  child.unref()
  ;(child.stdin as unknown as { unref(): void }).unref()
  return child
}
