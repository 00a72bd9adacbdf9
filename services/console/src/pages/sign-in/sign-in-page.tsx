import { Button } from '@mantine/core'
import type { Problem } from '../../core/explain-problem.ts'
import { useConfig } from '../../gateway/use-caller.ts'
import { ArrowIcon } from '../../parts/icons.tsx'
import { ProblemNotice } from '../../parts/problem-notice.tsx'
import { Gate } from './gate.tsx'
import classes from './sign-in-page.module.css'
import { useSession } from '../../session/use-session.ts'

const OFFERS = [
  'One key for every model, in any OpenAI client',
  'Your plan, your usage and the rest of your allowance',
  'A playground that streams through the gateway',
]

export function SignInPage({ problem }: { problem: Problem | null }) {
  const session = useSession()
  const { signIn, gatewayUrl } = useConfig()
  return (
    <Gate>
      <title>Sign in · Model Gateway</title>
      <h1 className={classes.title}>Sign in to your console</h1>
      <ul className={classes.offers}>
        {OFFERS.map((offer) => (
          <li key={offer}>{offer}</li>
        ))}
      </ul>
      {problem && <ProblemNotice problem={problem} />}
      {signIn ? (
        <>
          <Button size="md" fullWidth onClick={() => void session.signIn()} rightSection={<ArrowIcon />}>
            Sign in
          </Button>
          <p className={classes.note}>
            You are sent to <span className="mono">{new URL(signIn.issuer).host}</span> and back here.
          </p>
        </>
      ) : (
        <p className={classes.note}>
          Nobody can sign in here: <span className="mono">{gatewayUrl}</span> has no identity provider. Its operator
          sets one with <span className="mono">AUTH_ISSUER</span>.
        </p>
      )}
    </Gate>
  )
}
