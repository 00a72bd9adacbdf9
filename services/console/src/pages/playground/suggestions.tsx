import classes from './suggestions.module.css'

const SUGGESTIONS = [
  { lane: 'A quick question', text: 'What is the capital of Australia?' },
  { lane: 'A bit of code', text: 'Write a function in Python that merges two sorted lists.' },
  { lane: 'Something to think about', text: 'Prove that the square root of two is irrational.' },
  { lane: 'Something current', text: 'What changed in the euro exchange rate this week?' },
]

export function Suggestions({ onPick }: { onPick: (text: string) => void }) {
  return (
    <div className={classes.start}>
      <h2 className={classes.title}>Ask anything</h2>
      <p className="quiet">Auto picks a lane for each message and says which one, and why.</p>
      <ul className={classes.list}>
        {SUGGESTIONS.map(({ lane, text }) => (
          <li key={text}>
            <button type="button" className={classes.card} onClick={() => onPick(text)}>
              <span className={classes.lane}>{lane}</span>
              {text}
            </button>
          </li>
        ))}
      </ul>
    </div>
  )
}
