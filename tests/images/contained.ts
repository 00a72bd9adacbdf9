/**
 * Runs a program as an image would, without an engine: as an unprivileged user and the first process of its own. It can
 * write nothing of its file system. As root on Linux, namespaces of the kernel do so; elsewhere the program runs as the
 * present user.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const canContain = process.platform === 'linux' && process.getuid?.() === 0

/** Everything read-only, then the user's rights, then the program. */
const CONTAIN = `
set -e
mount --bind "$BASE" "$BASE"
mount --bind "$NODE_PROGRAM" "$BASE/node"
for place in "$BASE" /tmp /; do if mountpoint -q "$place"; then mount -o remount,bind,ro "$place"; fi; done
cd "$BASE/app"
exec setpriv --reuid "\${USER_IDS%:*}" --regid "\${USER_IDS#*:}" --clear-groups --no-new-privs --inh-caps=-all "$@"
`

export interface ContainedFolder extends AsyncDisposable {
  /** Where the image's `/app` is filled. */
  readonly app: string
  run(command: string[], environment: Record<string, string>, user: string): Contained
}

export interface Contained extends AsyncDisposable {
  /** Its output so far. */
  readonly output: string
  readonly exited: Promise<number | null>
  /** To the program itself. */
  signal(signal: NodeJS.Signals): Promise<void>
}

export async function containedFolder(): Promise<ContainedFolder> {
  const base = await mkdtemp(join(await realpath(tmpdir()), 'gateway-image-'))
  // The unprivileged user has to find its way.
  await chmod(base, 0o755)
  await writeFile(join(base, 'node'), '', { mode: 0o755 })
  return {
    app: join(base, 'app'),
    run: (command, environment, user) => run(base, command, environment, user),
    [Symbol.asyncDispose]: () => rm(base, { recursive: true, force: true }),
  }
}

function run(base: string, [program, ...args]: string[], environment: Record<string, string>, user: string): Contained {
  const isNode = program === 'node'
  const contain = ['--mount', '--pid', '--fork', '--kill-child', '--mount-proc', 'sh', '-c', CONTAIN, 'sh']
  const child = canContain
    ? spawn('unshare', [...contain, isNode ? join(base, 'node') : program!, ...args], {
        env: { PATH: process.env['PATH'], BASE: base, NODE_PROGRAM: process.execPath, USER_IDS: user, ...environment },
      })
    : spawn(isNode ? process.execPath : program!, args, { cwd: join(base, 'app'), env: environment })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => void (output += text))
  }
  const exited = once(child, 'exit').then(([code]) => code as number | null)
  return {
    get output() {
      return output
    },
    exited,
    async signal(signal) {
      process.kill(canContain ? await firstChildOf(child) : child.pid!, signal)
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await exited
    },
  }
}

async function firstChildOf({ pid }: ChildProcess): Promise<number> {
  const [first] = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim().split(' ')
  return Number(first)
}
