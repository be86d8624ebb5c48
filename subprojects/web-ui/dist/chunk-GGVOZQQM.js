function d(n){let e=/:(\d+),\d+(?:-\d+(?:,\d+)?)?/.exec(n)??/\bline (\d+)/i.exec(n)??/\bat (\d+):\d+/.exec(n);return e?.[1]?Number(e[1]):null}export{d as a};
