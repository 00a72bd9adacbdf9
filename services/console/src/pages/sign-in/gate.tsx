import type { ReactNode } from 'react'
import { Mark } from '../../parts/icons.tsx'
import classes from './gate.module.css'

/** The frame of every page that a visitor sees before signing in. */
export function Gate({ children }: { children: ReactNode }) {
  return (
    <div className={classes.ground}>
      <Routes />
      <main className={classes.card}>
        <div className={classes.brand}>
          <Mark size={34} />
          <span>Model Gateway</span>
        </div>
        {children}
      </main>
    </div>
  )
}

/** Decoration: many routes behind one entrance. */
function Routes() {
  const ends = [60, 150, 240, 330, 420, 510, 600]
  return (
    <svg className={classes.routes} viewBox="0 0 900 660" preserveAspectRatio="xMidYMid slice" aria-hidden="true">
      {ends.map((y) => (
        <path key={y} d={`M-20 330 H 330 C 500 330 460 ${y} 640 ${y} H 920`} />
      ))}
      {ends.map((y) => (
        <circle key={y} cx="640" cy={y} r="4" />
      ))}
    </svg>
  )
}
