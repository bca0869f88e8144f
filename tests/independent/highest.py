from wins import at_stops


def columns(strips, rows):
    return [[at_stops([strip], [stop], rows)[0] for stop in range(len(strip))] for strip in strips]


def highest_lines(lines, columns, wild):
    best = 0
    reels = len(columns)
    rows = lines.file.lines

    def bound(cells):
        return lines.best(cells + (wild,) * (reels - len(cells)))[0]

    def search(reel, cells):
        nonlocal best
        if reel == reels:
            best = max(best, sum(lines.best(line)[0] for line in cells))
            return
        tried = []
        for column in columns[reel]:
            longer = [line + (column[row[reel]],) for line, row in zip(cells, rows, strict=True)]
            tried.append((sum(map(bound, longer)), longer))
        for reach, longer in sorted(tried, key=lambda of: -of[0]):
            if reach <= best:
                break
            search(reel + 1, longer)

    search(0, [()] * len(rows))
    return best


def highest_ways(pays, columns):
    symbols = list(pays)
    counts = [sorted({tuple(column.count(symbol) for symbol in symbols) for column in reel}) for reel in columns]
    most = [[max(of[place] for of in reel) for place in range(len(symbols))] for reel in counts]
    reels, best = len(counts), 0

    def reach(reel, runs):
        total = 0
        for place, symbol in enumerate(symbols):
            ways, won, running = runs[place]
            for later in range(reel, reels):
                if not running:
                    break
                ways *= most[later][place]
                won = max(won, ways * pays[symbol][later + 1])
            total += won
        return total

    def search(reel, runs):
        nonlocal best
        if reel == reels:
            best = max(best, sum(won for _, won, _ in runs))
            return
        tried = []
        for column in counts[reel]:
            longer = []
            for place, symbol in enumerate(symbols):
                ways, won, running = runs[place]
                running = running and column[place] > 0
                longer.append((ways * column[place], ways * column[place] * pays[symbol][reel + 1], True) if running
                              else (ways, won, False))
            tried.append((reach(reel + 1, longer), longer))
        for reached, longer in sorted(tried, key=lambda of: -of[0]):
            if reached <= best:
                break
            search(reel + 1, longer)

    search(0, [(1, 0, True)] * len(symbols))
    return best
