/**
 * Function words, by which the language of a text in Latin letters is detected. They are folded as texts are. A word of two
 * languages stands in both. Danish has the Norwegian ones, too.
 */

export const FUNCTION_WORDS = {
  en: `the of and to is a in that it you for on with are this my was i be have at from by an or we they he she his her as not do does did
    if but so what how me your there their which who when where why can could would should will just about been has had were its than
    then them these those some any no all please am im don t s m ll re ve d`,
  de: `der die das und ist nicht ein eine einen einem einer ich du sie er wir ihr wie zu mit auf für im in den dem des von vom zum zur bei
    aus an als auch es sich mir mich dir dich mein meine meinen meinem dein deine sind war hat habe haben wird werden oder aber nur noch
    schon nach über unter vor durch bis man so was wenn dass kein keine bin bist gibt`,
  es: `el la los las un una unos unas y o de del que en es no se por para con mi tu su me te lo le al como mas pero si yo ha he son esta este
    esto eso muy ya sin sobre entre cuando donde ser estoy era fue hay nos sus les porque`,
  fr: `le la les un une des et ou de du que qui en est pas ne ce se je tu il elle nous vous on au aux avec pour par sur dans son sa ses mon
    ma mes ton ta tes leur mais si plus y a ai as sont etait cette cet ces me te d l j c n s qu m t être fait très comme ça va`,
  pt: `o a os as um uma e ou de do da dos das que em no na nos nas para por com nao se eu voce ele ela me meu minha seu sua ao mais mas como
    sao foi esta isso isto muito ja sem sobre entre quando ser estou tem ter`,
  it: `il lo la i gli le un uno una e o di del della dei delle che in nel nella per con non si mi ti ci vi sono è da dal dalla al alla ai alle
    su sul questo questa più ma come se ho hai ha io tu mio mia suo sua anche l d c dell nell all`,
  nl: `de het een en van in is dat op te met voor niet zijn ik je jij hij ze wij we aan om er als maar ook bij uit door naar over mijn jouw
    dit die deze wat hoe wie kan heb heeft hebben was wordt worden of dan nog`,
  pl: `i w z na do nie się jest to że jak o po za od dla czy co ja ty mój moja mnie mi ten ta te tym przez przy ale lub oraz są być był była
    jestem jego jej ich`,
  tr: `ve bir bu da de için ile ne mi mu misin musun ben sen o biz siz benim senin gibi daha çok en var yok olan olarak ama ya ki her kadar
    sonra`,
  id: `yang dan di ke dari untuk dengan ini itu adalah saya aku kamu anda apa bagaimana tidak ada bisa pada dalam akan atau juga karena oleh
    sebuah para seperti sudah lebih`,
  vi: `là và của cho tôi bạn một các những với trong có không được này đó thì mà để ở từ đến khi như hay hoặc về lại nên cũng rằng mình em
    anh chị nhé ạ ơi`,
  sv: `och i att det som en på är av för med till den har de inte om ett han men var jag så kan du hur vad ska mig min din vi ni sig från eller
    när där här skulle vill`,
  da: `og i at det som en på er af for med til den har de ikke om et han men var jeg så kan du hvordan hvad skal mig min din vi sig fra eller
    når der her vil meg deg og å hva fra seg ikke`,
  cs: `a v je na se že to s z do o jsem k jak co ale po si pro jsou být bych mi mě ten ta jako by jestli nebo ve ze u za od mám máš má který
    která které není kdy kde jaký jaká jaké`,
  fi: `ja on ei se että en hän oli mutta mitä minä sinä minun sinun ovat olen olet kun niin tai jos kuin voi mikä miten missä onko miksi
    kuinka ole nyt myös sen tämä`,
  ro: `și de la în a este o un pe cu să nu care ce din mai pentru că sunt se am ai are cum sau dar mi te eu tu el ea lui îmi cât când unde
    fi va ar`,
  hi: `kya hai mujhe mera meri ke ki ka ko se aur main nahi ho hain`,
}
