import { useState, type PointerEvent } from 'react'
import { roundScale } from '../core/usage-days.ts'
import classes from './bars.module.css'

interface Bar {
  key: string
  label: string
  value: number
}

interface BarsProps {
  bars: readonly Bar[]
  /** With the length of a bar: `Requests a day`. */
  title: string
  /** A sentence with the figures that matter. */
  summary: string
  format: (value: number) => string
  /** For the scale. */
  short: (value: number) => string
}

/**
 * A bar for each span of time. Pointing at a bar shows its figure. Keyboards and screen readers use a table with the same figures, so
 * the chart is one image with a summary.
 */
export function Bars({ bars, title, summary, format, short }: BarsProps) {
  const [pointed, setPointed] = useState<number | null>(null)
  const marks = roundScale(Math.max(...bars.map(({ value }) => value)))
  const top = marks.at(-1)!
  const shown = pointed === null ? undefined : bars[pointed]

  function point(event: PointerEvent<HTMLDivElement>): void {
    const { left, width } = event.currentTarget.getBoundingClientRect()
    const index = Math.floor(((event.clientX - left) / width) * bars.length)
    setPointed(Math.min(bars.length - 1, Math.max(0, index)))
  }

  return (
    <figure className={classes.figure}>
      <figcaption className={`${classes.caption} figures`}>
        {shown ? (
          <>
            <strong>{shown.label}</strong> {format(shown.value)}
          </>
        ) : (
          title
        )}
      </figcaption>
      <div className={classes.plot}>
        <div className={classes.marks} aria-hidden="true">
          {marks.map((mark) => (
            <span key={mark} className={classes.mark} style={{ insetBlockEnd: `${(mark / top) * 100}%` }}>
              {short(mark)}
            </span>
          ))}
        </div>
        <div
          className={classes.bars}
          role="img"
          aria-label={summary}
          onPointerMove={point}
          onPointerDown={point}
          onPointerLeave={() => setPointed(null)}
        >
          {bars.map(({ key, value }, index) => (
            <div key={key} className={classes.span} data-pointed={index === pointed}>
              <div className={classes.bar} style={{ blockSize: `${(value / top) * 100}%` }} />
            </div>
          ))}
        </div>
      </div>
      <div className={classes.labels} aria-hidden="true">
        {[bars[0], bars[Math.floor(bars.length / 2)], bars.at(-1)].map((bar, index) => (
          <span key={index}>{(index === 0 || bars.length > 2) && bar?.label}</span>
        ))}
      </div>
    </figure>
  )
}
